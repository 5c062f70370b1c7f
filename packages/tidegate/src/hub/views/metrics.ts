import type { CounterMetric, Metrics } from '@tidegate/kube';
import type { ManagedView } from './managed-view.ts';

export interface ViewCounters {
  readonly relists: CounterMetric;
  readonly doubted: CounterMetric;
  readonly evicted: CounterMetric;
  readonly tooLarge: CounterMetric;
}

export const viewCounters = (metrics: Metrics): ViewCounters => ({
  relists: metrics.counter('tidegate_hub_view_relists_total', {
    help: 'Complete lists that were fetched to keep views current.',
    labels: ['resource'],
  }),
  doubted: metrics.counter('tidegate_hub_view_doubted_lists_total', {
    help: 'Empty lists that were not believed: they would have wiped what the node runs on.',
    labels: ['resource'],
  }),
  evicted: metrics.counter('tidegate_hub_view_evictions_total', {
    help: 'Views that were given up because there were too many of them.',
    labels: ['resource'],
  }),
  tooLarge: metrics.counter('tidegate_hub_view_too_large_total', {
    help: 'Lists that were passed on without being kept, because of their size.',
    labels: ['resource'],
  }),
});

/** Returns how to stop it. */
export function showViews(metrics: Metrics, views: () => Iterable<ManagedView>): () => void {
  const labels = ['state'];
  const count = metrics.gauge('tidegate_hub_views', { help: 'Views that the hub keeps.', labels });
  const objects = metrics.gauge('tidegate_hub_view_objects', { help: 'Objects in views.', labels });
  const bytes = metrics.gauge('tidegate_hub_view_bytes', { help: 'Bytes of the objects in views.', labels });
  return metrics.onScrape(() => {
    const sums = { following: [0, 0, 0], stored: [0, 0, 0] };
    for (const { isFollowed, progress } of views()) {
      const sum = isFollowed ? sums.following : sums.stored;
      [1, progress?.size ?? 0, progress?.bytes ?? 0].forEach((value, i) => {
        sum[i]! += value;
      });
    }
    for (const [state, sum] of Object.entries(sums)) {
      [count, objects, bytes].forEach((gauge, i) => {
        gauge.set({ state }, sum[i]!);
      });
    }
  });
}
