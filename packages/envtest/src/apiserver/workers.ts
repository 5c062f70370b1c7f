import { Controller, type Logger, type Metrics } from '@tidegate/kube';
import type { Change, Store } from './store/types.ts';

/** A controller inside the API server. It observes every change of the store, enqueues keys, and reconciles them. */
export interface Worker {
  observe(change: Change): void;
  reconcile(key: string): Promise<void>;
}

/** `make` creates the worker; it may enqueue keys at once, for example for everything that is stored. */
export interface WorkerOptions {
  make(enqueue: (key: string) => void): Worker;
  concurrency: number;
}

/** Runs the workers until they are closed. */
export function startWorkers(
  workers: Record<string, WorkerOptions>,
  { store, log, metrics }: { store: Store; log: Logger; metrics: Metrics },
): { close(): Promise<void> } {
  const stopping = new AbortController();
  const observers: ((change: Change) => void)[] = [];
  const running = Object.entries(workers).map(([name, { make, concurrency }]) => {
    let worker: Worker | undefined;
    const controller = new Controller({
      name,
      concurrency,
      metrics,
      log,
      reconcile: async (key) => worker?.reconcile(key),
    });
    worker = make((key) => controller.enqueue(key));
    const made = worker;
    observers.push((change) => made.observe(change));
    return controller.run(stopping.signal);
  });
  const unsubscribe = store.watchAll((changes) => {
    for (const change of changes) for (const observe of observers) observe(change);
  });
  return {
    close: async () => {
      unsubscribe();
      stopping.abort();
      await Promise.all(running);
    },
  };
}
