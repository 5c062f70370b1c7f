import type { CounterMetric, GaugeMetric, HistogramMetric, Metrics } from '../base/metrics.ts';

export type ResultLabel = 'success' | 'requeue_after' | 'error';

/** The buckets of controller-runtime. */
const TIME_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5,
  1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];

const RESULTS: ResultLabel[] = ['success', 'requeue_after', 'error'];

/** The metrics of controller-runtime, under the same names, so that existing dashboards work. */
export class ControllerMetrics {
  readonly #controller: string;
  readonly #total: CounterMetric;
  readonly #errors: CounterMetric;
  readonly #terminalErrors: CounterMetric;
  readonly #time: HistogramMetric;
  readonly #active: GaugeMetric;
  #activeCount = 0;

  constructor(metrics: Metrics, controller: string, concurrency: number) {
    const labels = ['controller'];
    this.#controller = controller;
    this.#total = metrics.counter('controller_runtime_reconcile_total', {
      help: 'Reconciles, by controller and result.',
      labels: ['controller', 'result'],
    });
    this.#errors = metrics.counter('controller_runtime_reconcile_errors_total', {
      help: 'Reconciles that failed, by controller.',
      labels,
    });
    this.#terminalErrors = metrics.counter('controller_runtime_terminal_reconcile_errors_total', {
      help: 'Reconciles that failed and are not retried, by controller.',
      labels,
    });
    this.#time = metrics.histogram('controller_runtime_reconcile_time_seconds', {
      help: 'Duration of reconciles in seconds, by controller.',
      labels,
      buckets: TIME_BUCKETS,
    });
    this.#active = metrics.gauge('controller_runtime_active_workers', {
      help: 'Workers that are busy, by controller.',
      labels,
    });
    metrics
      .gauge('controller_runtime_max_concurrent_reconciles', {
        help: 'Maximum number of busy workers, by controller.',
        labels,
      })
      .set({ controller }, concurrency);
    // Prometheus can only compute a rate from zero if the zero was exported.
    this.#active.set({ controller }, 0);
    this.#errors.inc({ controller }, 0);
    for (const result of RESULTS) this.#total.inc({ controller, result }, 0);
  }

  started(): void {
    this.#active.set({ controller: this.#controller }, ++this.#activeCount);
  }

  finished(seconds: number): void {
    this.#active.set({ controller: this.#controller }, --this.#activeCount);
    this.#time.observe({ controller: this.#controller }, seconds);
  }

  result(result: ResultLabel): void {
    this.#total.inc({ controller: this.#controller, result });
  }

  error(options: { terminal: boolean }): void {
    this.result('error');
    this.#errors.inc({ controller: this.#controller });
    if (options.terminal) this.#terminalErrors.inc({ controller: this.#controller });
  }
}
