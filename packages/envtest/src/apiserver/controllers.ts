/** The controllers that run in the API server, because its own verbs depend on them; above all DELETE. */
import type { Logger, Metrics } from '@tidegate/kube';
import type { Authorizer } from './auth/authorization.ts';
import { CsrController } from './auth/csr/controller.ts';
import type { Pki } from './auth/pki.ts';
import { GarbageCollector } from './collector/garbage.ts';
import { NamespaceCollector } from './collector/namespaces.ts';
import { CrdRegistrar } from './crd/registrar.ts';
import type { Core, WriteOptions } from './operations/core.ts';
import type { QuotaLedger } from './quota/ledger.ts';
import { QuotaStatus } from './quota/status.ts';
import type { Key } from './store/types.ts';
import { startWorkers, type Worker, type WorkerOptions } from './workers.ts';

export interface ControllersOptions {
  core: Core;
  options: WriteOptions;
  pki: Pki;
  authorizer: Authorizer;
  ledger: QuotaLedger;
  log: Logger;
  metrics: Metrics;
}

export function startControllers(options: ControllersOptions): { close(): Promise<void> } {
  const { core, options: write, log, metrics } = options;
  const workers: Record<string, WorkerOptions> = {
    'custom-resource-definitions': {
      make: (enqueue) => new CrdRegistrar(core, write, enqueue),
      concurrency: 1,
    },
    'garbage-collector': { make: (enqueue) => garbageWorker(core, write, enqueue), concurrency: 8 },
    namespaces: { make: (enqueue) => new NamespaceCollector(core, write, enqueue), concurrency: 4 },
    quotas: { make: (enqueue) => new QuotaStatus(core, write, options.ledger, enqueue), concurrency: 2 },
    certificates: { make: (enqueue) => new CsrController(core, write, options, enqueue), concurrency: 1 },
  };
  return startWorkers(workers, { store: core.store, log, metrics });
}

/** The keys of a queue are strings; those of the collector are store keys. */
function garbageWorker(core: Core, write: WriteOptions, enqueue: (key: string) => void): Worker {
  const collector = new GarbageCollector(core, write, (key) => enqueue(JSON.stringify(key)));
  return {
    observe: (change) => collector.observe(change),
    reconcile: (key) => collector.reconcile(JSON.parse(key) as Key),
  };
}
