/** The controllers that live in the API server, because without them its own verbs do not work: DELETE above all. */
import { Controller } from '../../kube/controller/controller.ts';
import type { Logger } from '../../kube/log.ts';
import type { Metrics } from '../../kube/metrics.ts';
import type { Authorizer } from './auth/authorization.ts';
import { CsrController } from './auth/csr/controller.ts';
import type { Pki } from './auth/pki.ts';
import { GarbageCollector } from './collector/garbage.ts';
import { NamespaceCollector } from './collector/namespaces.ts';
import { CrdRegistrar } from './crd/registrar.ts';
import type { Core, WriteOptions } from './operations/core.ts';
import type { Change, Key } from './store/types.ts';

export interface ControllersOptions {
  core: Core;
  options: WriteOptions;
  pki: Pki;
  authorizer: Authorizer;
  logger: Logger;
  metrics: Metrics;
}

/** Observes every change, asks for turns of keys, and takes them. */
interface Worker {
  observe(change: Change): void;
  reconcile(key: string): Promise<void>;
}

type MakeWorker = (enqueue: (key: string) => void) => Worker;

export function startControllers(options: ControllersOptions): { close(): Promise<void> } {
  const { core, options: write, logger, metrics } = options;
  const workers: Record<string, { make: MakeWorker; concurrency: number }> = {
    'custom-resource-definitions': {
      make: (enqueue) => new CrdRegistrar(core, write, enqueue),
      concurrency: 1,
    },
    'garbage-collector': { make: (enqueue) => garbageWorker(core, write, enqueue), concurrency: 8 },
    namespaces: { make: (enqueue) => new NamespaceCollector(core, write, enqueue), concurrency: 4 },
    certificates: { make: (enqueue) => new CsrController(core, write, options, enqueue), concurrency: 1 },
  };
  const stopping = new AbortController();
  const observers: ((change: Change) => void)[] = [];
  const running = Object.entries(workers).map(([name, { make, concurrency }]) => {
    let worker: Worker | undefined;
    const controller = new Controller({
      name,
      concurrency,
      metrics,
      log: logger,
      reconcile: async (key) => worker?.reconcile(key),
    });
    worker = make((key) => controller.enqueue(key));
    const made = worker;
    observers.push((change) => made.observe(change));
    return controller.run(stopping.signal);
  });
  const unsubscribe = core.store.watchAll((changes) => {
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

/** A queue's keys are strings; the collector's are places in the store. */
function garbageWorker(core: Core, write: WriteOptions, enqueue: (key: string) => void): Worker {
  const collector = new GarbageCollector(core, write, (key) => enqueue(JSON.stringify(key)));
  return {
    observe: (change) => collector.observe(change),
    reconcile: (key) => collector.reconcile(JSON.parse(key) as Key),
  };
}
