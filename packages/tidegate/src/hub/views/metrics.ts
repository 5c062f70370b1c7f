import type { CounterMetric, Metrics } from '@tidegate/kube';
import type { ManagedView } from './managed-view.ts';

export interface ViewCounters {
  readonly relists: CounterMetric;
  readonly rejected: CounterMetric;
  readonly evicted: CounterMetric;
  readonly tooLarge: CounterMetric;
  readonly unfollowed: CounterMetric;
}

export const viewCounters = (metrics: Metrics): ViewCounters => ({
  relists: metrics.counter('tidegate_hub_view_relists_total', {
    help: 'Complete lists that the hub fetched to keep views current.',
    labels: ['resource'],
  }),
  rejected: metrics.counter('tidegate_hub_view_rejected_empty_lists_total', {
    help: 'Empty lists that the hub rejected, because they would have deleted the pods or configuration of the node.',
    labels: ['resource'],
  }),
  evicted: metrics.counter('tidegate_hub_view_evictions_total', {
    help: 'Views that the hub deleted because a client, or all clients together, exceeded a limit on their number or size.',
    labels: ['resource'],
  }),
  tooLarge: metrics.counter('tidegate_hub_view_too_large_total', {
    help: 'Lists that the hub did not store because they exceed the size limit of a view or of a client.',
    labels: ['resource'],
  }),
  unfollowed: metrics.counter('tidegate_hub_view_unfollowed_watches_total', {
    help: 'Watches that the hub did not serve from a view because the client has used its share of followed views.',
  }),
});

/** Sets the gauges of views on every scrape. Returns a function that stops it. */
export function showViews(metrics: Metrics, views: () => Iterable<ManagedView>): () => void {
  const labels = ['state'];
  const count = metrics.gauge('tidegate_hub_views', {
    help: 'Views that the hub has stored, by state.',
    labels,
  });
  const objects = metrics.gauge('tidegate_hub_view_objects', { help: 'Objects in views, by state.', labels });
  const bytes = metrics.gauge('tidegate_hub_view_bytes', {
    help: 'Size of the objects in views in bytes, by state.',
    labels,
  });
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
