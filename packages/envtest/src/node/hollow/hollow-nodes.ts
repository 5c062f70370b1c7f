import { setMaxListeners } from 'node:events';
import { type Clock, Informer, type KubeClient, type Logger, PODS, type Pod } from '@tidegate/kube';
import { Lanes } from '../pods/lanes.ts';
import { PodManager } from '../pods/manager.ts';
import { type Machine, type NodeDescription, Registration, thisMachine } from '../registration/index.ts';
import { HollowRuntime } from './hollow-runtime.ts';

/** Options of {@link startHollowNodes}. */
export interface HollowNodesOptions {
  /** The nodes are `<name>-1` to `<name>-<count>`; without a count there is one, named `name`. */
  name: string;
  count?: number | undefined;
  /** With permission to write all of these nodes. */
  client: KubeClient;
  labels: Record<string, string>;
  kubeletPort: number;
  kubernetesVersion: string;
  version: string;
  clock: Clock;
  log: Logger;
  /** Aborts a start in progress. */
  signal?: AbortSignal;
}

/** The maximum number of concurrent pod status writes of all nodes. */
const WRITES_AT_ONCE = 32;

/** Events about simulated pods would be of no use. */
const silent = { normal: () => {}, warning: () => {} };

/**
 * Starts nodes that accept pods and report them as running without running anything, to test everything else at
 * scale. Resolves when all nodes are registered. `close` stops the heartbeats; the Node objects stay.
 *
 * @example
 * ```ts
 * const nodes = await startHollowNodes({
 *   name: 'node',
 *   count: 100,
 *   client,
 *   labels: { 'topology.kubernetes.io/zone': 'a' },
 *   kubeletPort: 10_250,
 *   kubernetesVersion: 'v1.36.4',
 *   version: '1.0.0',
 *   clock: systemClock,
 *   log,
 * });
 * await nodes.close();
 * ```
 */
export async function startHollowNodes(options: HollowNodesOptions): Promise<{ close(): Promise<void> }> {
  const { name, count, client, clock, log } = options;
  const names = count === undefined ? [name] : Array.from({ length: count }, (_, i) => `${name}-${i + 1}`);
  const machine = thisMachine();
  const stop = new AbortController();
  // Every node adds a listener.
  setMaxListeners(0, stop.signal);
  const lanes = new Lanes(WRITES_AT_ONCE);
  const managers = new Map<string, PodManager>();
  const registrations = await Promise.all(
    names.map(async (nodeName, index) => {
      const hostIP = `10.63.${index >> 8}.${index & 255}`;
      const runtime = new HollowRuntime(`10.${64 + (index >> 8)}.${index & 255}.0/24`);
      const context = { client, lanes, runtime, recorder: silent, hostIP, clock, log };
      managers.set(nodeName, await PodManager.open(context));
      const description = describe(nodeName, hostIP, machine, options);
      const offset = index / names.length;
      return new Registration({ client, description, offset, clock, log });
    }),
  );
  // A single node may read only its own pods. With many nodes, the client may read all pods.
  const fieldSelector = count === undefined ? `spec.nodeName=${name}` : undefined;
  const pods = new Informer<Pod>(client, PODS, {
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
    transform: withoutManagedFields,
    clock,
    log,
  });
  const managerOf = (pod: Pod): PodManager | undefined => managers.get(pod.spec?.nodeName ?? '');
  pods.addHandler({
    onAdd: (pod) => managerOf(pod)?.put(pod),
    onUpdate: (_old, pod) => managerOf(pod)?.put(pod),
    onDelete: (pod) => managerOf(pod)?.remove(pod),
  });
  const abortStart = (): void => stop.abort(options.signal?.reason);
  options.signal?.addEventListener('abort', abortStart, { once: true });
  await Promise.all(registrations.map((registration) => registration.register(stop.signal)));
  options.signal?.removeEventListener('abort', abortStart);
  const running = [pods.run(stop.signal), ...registrations.map((one) => one.run(stop.signal))];
  return {
    close: async () => {
      stop.abort();
      await Promise.all([...running, ...[...managers.values()].map((manager) => manager.close(0))]);
    },
  };
}

function describe(
  name: string,
  address: string,
  machine: Machine,
  { labels, kubeletPort, kubernetesVersion, version }: HollowNodesOptions,
): NodeDescription {
  return { name, address, kubeletPort, labels, kubernetesVersion, version, machine };
}

function withoutManagedFields(pod: Pod): Pod {
  const { managedFields: _, ...metadata } = pod.metadata;
  return { ...pod, metadata };
}
