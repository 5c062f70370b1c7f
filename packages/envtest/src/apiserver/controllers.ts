/** The controllers that run in the API server, because its own verbs depend on them; above all DELETE. */
import type { Logger, Metrics } from '@tidegate/kube';
import { IpAddresses } from './addresses/ip-addresses.ts';
import { ServiceCidrs } from './addresses/service-cidrs.ts';
import type { WebhookTransport } from './admission/webhooks/transport.ts';
import { ApiServices } from './aggregation/api-services.ts';
import type { Authorizer } from './auth/authorization.ts';
import { CsrController } from './auth/csr/controller.ts';
import type { Pki } from './auth/pki.ts';
import { GarbageCollector } from './collector/garbage.ts';
import { NamespaceCollector } from './collector/namespaces.ts';
import { Protection } from './collector/protection.ts';
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
  /** Calls the conversion webhooks of CustomResourceDefinitions. */
  transport: WebhookTransport;
  /** The range of ClusterIPs. */
  serviceCIDR: string;
  log: Logger;
  metrics: Metrics;
}

/** Starts all of them. Each observes every change of the store. */
export function startControllers(options: ControllersOptions): { close(): Promise<void> } {
  const { core, options: write, log, metrics } = options;
  const workers: Record<string, WorkerOptions> = {
    'custom-resource-definitions': {
      make: (enqueue) => new CrdRegistrar(core, write, options.transport, enqueue),
      concurrency: 1,
    },
    'garbage-collector': {
      make: (enqueue) => keyed(enqueue, (enqueueKey) => new GarbageCollector(core, write, enqueueKey)),
      concurrency: 8,
    },
    protection: {
      make: (enqueue) => keyed(enqueue, (enqueueKey) => new Protection(core, write, enqueueKey)),
      concurrency: 2,
    },
    'api-services': { make: (enqueue) => new ApiServices(core, write, enqueue), concurrency: 4 },
    'service-cidrs': {
      make: (enqueue) => new ServiceCidrs(core, write, options.serviceCIDR, enqueue),
      concurrency: 1,
    },
    'ip-addresses': { make: (enqueue) => new IpAddresses(core, write, enqueue), concurrency: 4 },
    namespaces: { make: (enqueue) => new NamespaceCollector(core, write, enqueue), concurrency: 4 },
    quotas: { make: (enqueue) => new QuotaStatus(core, write, options.ledger, enqueue), concurrency: 2 },
    certificates: { make: (enqueue) => new CsrController(core, write, options, enqueue), concurrency: 1 },
  };
  return startWorkers(workers, { store: core.store, log, metrics });
}

interface KeyedWorker {
  observe: Worker['observe'];
  reconcile(key: Key): Promise<void>;
}

/** The keys of a queue are strings; those of the collectors are store keys. */
function keyed(enqueue: (key: string) => void, make: (enqueue: (key: Key) => void) => KeyedWorker): Worker {
  const worker = make((key) => enqueue(JSON.stringify(key)));
  return {
    observe: (change) => worker.observe(change),
    reconcile: (key) => worker.reconcile(JSON.parse(key) as Key),
  };
}
