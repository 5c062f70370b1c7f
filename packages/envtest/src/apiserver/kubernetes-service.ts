/**
 * The Service `default/kubernetes` with endpoints for the address of this server, through which programs in the cluster
 * find it. Created at the start, and restored when a client changes or deletes it.
 */
import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { KubeObject } from '@tidegate/kube';
import { ensureObject } from './bootstrap.ts';
import type { Core, WriteOptions } from './operations/core.ts';
import { editIfPresent } from './operations/if-present.ts';
import type { Change } from './store/types.ts';
import type { Worker } from './workers.ts';

const NAMESPACE = 'default';
const NAME = 'kubernetes';
/** The first address of the service range. */
const CLUSTER_IP = '10.96.0.1';

/** By storage name. */
type Wanted = ReadonlyMap<string, KubeObject>;

/** Keys are storage names: each of the three objects is reconciled separately. */
export class KubernetesService {
  readonly #core: Core;
  readonly #options: WriteOptions;
  readonly #wanted: Wanted;

  constructor(core: Core, options: WriteOptions, listening: { address: string; port: number }) {
    this.#core = core;
    this.#options = options;
    this.#wanted = wantedObjects(reachable(listening.address), listening.port);
  }

  async publish(): Promise<void> {
    await Promise.all([...this.#wanted.keys()].map((storage) => this.reconcile(storage)));
  }

  /** Keeps the objects up to date from now on, and retries what `publish` could not do. */
  worker(enqueue: (storage: string) => void): Worker {
    for (const storage of this.#wanted.keys()) enqueue(storage);
    return {
      observe: ({ resource, entry }: Change): void => {
        if (entry.name !== NAME || entry.namespace !== NAMESPACE) return;
        if (this.#wanted.has(resource)) enqueue(resource);
      },
      reconcile: (storage) => this.reconcile(storage),
    };
  }

  async reconcile(storage: string): Promise<void> {
    const served = this.#core.registry.byStorage(storage);
    const wanted = this.#wanted.get(storage);
    if (served === undefined || wanted === undefined) throw new Error(`${storage} is not served`);
    await ensureObject(this.#core, this.#options, structuredClone(wanted));
    // Nothing is written if the object is already correct.
    await editIfPresent(
      this.#core,
      { served, namespace: NAMESPACE, name: NAME },
      this.#options,
      (current) => {
        const { apiVersion: _, kind: __, metadata, spec, ...fields } = structuredClone(wanted);
        Object.assign(current, fields);
        current.metadata.labels = { ...current.metadata.labels, ...metadata.labels };
        if (spec !== undefined) current.spec = { ...(current.spec as object), ...spec };
      },
    );
  }
}

/** If the server listens on all addresses, returns an address of the machine. */
function reachable(address: string): string {
  if (address !== '0.0.0.0' && address !== '::') return address;
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1';
}

function wantedObjects(address: string, port: number): Wanted {
  const metadata = { name: NAME, namespace: NAMESPACE };
  const ports = [{ name: 'https', port, protocol: 'TCP' }];
  return new Map<string, KubeObject>([
    [
      'services',
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { ...metadata, labels: { component: 'apiserver', provider: 'kubernetes' } },
        spec: {
          type: 'ClusterIP',
          clusterIP: CLUSTER_IP,
          clusterIPs: [CLUSTER_IP],
          ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: port }],
        },
      },
    ],
    [
      'endpoints',
      {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { ...metadata, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
        subsets: [{ addresses: [{ ip: address }], ports }],
      },
    ],
    [
      'discovery.k8s.io/endpointslices',
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { ...metadata, labels: { 'kubernetes.io/service-name': NAME } },
        addressType: isIPv6(address) ? 'IPv6' : 'IPv4',
        endpoints: [{ addresses: [address], conditions: { ready: true } }],
        ports,
      },
    ],
  ]);
}
