import { setMaxListeners } from 'node:events';
import {
  type Clock,
  ENDPOINT_SLICES,
  EventRecorder,
  type Informer,
  Informers,
  type KubeClient,
  type Logger,
  NODES,
  orAborted,
  PODS,
  type Pod,
  SERVICES,
  systemClock,
} from '@tidegate/kube';
import { ClusterIPs } from './clusterip/index.ts';
import { FileLogs } from './logs/index.ts';
import { NodePorts } from './nodeport/index.ts';
import { Lanes } from './pods/lanes.ts';
import { PodManager } from './pods/manager.ts';
import { openProcessRuntime } from './processes/index.ts';
import { type NodeDescription, Registration, thisMachine } from './registration/index.ts';
import { startKubeletServer } from './server/index.ts';

/** Options of {@link startAgent}. */
export interface AgentOptions {
  name: string;
  /** With the identity of this node's kubelet. */
  client: KubeClient;
  /** With the identity of kube-proxy. */
  proxyClient: KubeClient;
  /** The address of the node. The kubelet's server and the NodePorts listen on it. */
  address: string;
  listenPort: number;
  /** The port at which the API server reaches the kubelet's server. */
  advertisePort: number;
  /** Set when the node registers for the first time. */
  labels: Record<string, string>;
  /** Holds the pods' directories, logs, addresses and the serving certificate. */
  stateDirectory: string;
  imagesFile?: string | undefined;
  /** The command that runs this program. */
  program: string[];
  /** The PATH of the pods' programs. */
  path: string;
  /** Run the commands of containers as processes; off by default, because manifests then run code on this machine. */
  runCommands?: boolean | undefined;
  kubernetesVersion: string;
  version: string;
  log: Logger;
  clock?: Clock;
  /** Aborts a start in progress. */
  signal?: AbortSignal;
}

/** A running node. */
export interface Agent {
  /** Stops the containers, then everything else. The pods stay in the API; the next agent starts them again. */
  close(): Promise<void>;
}

/** Shorter than the grace period of a deleted pod, because the user waits for the program to exit. */
const CLOSE_GRACE_MS = 10_000;

/** The maximum number of concurrent pod status writes. */
const WRITES_AT_ONCE = 8;

/**
 * Starts a node that runs containers as processes of this machine, see `index.ts` of this folder.
 *
 * The parts start in this order: the container runtime with what earlier agents left, the Node registration, the
 * kubelet's server and the addresses of Services, then the pods. They stop in the opposite order, so that pods stay reachable
 * until they have ended.
 */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { name, client, address, log, clock = systemClock } = options;
  const closers: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const abortStart = (): void => stop.abort(options.signal?.reason);
  options.signal?.addEventListener('abort', abortStart, { once: true });
  try {
    const recorder = new EventRecorder(client, { component: 'kubelet', instance: name, clock, log });
    closers.push(() => recorder.close());
    const informers = new Informers(client, { clock, log });
    const nodes = informers.for(NODES, { fieldSelector: `metadata.name=${name}` });
    const pods = informers.for(PODS, { fieldSelector: `spec.nodeName=${name}` });
    const services = informers.for(SERVICES);
    const logs = new FileLogs({ log, clock });
    const parts = { nodeName: name, nodeIP: address, nodes, services, logs, clock };
    const runtime = await openProcessRuntime({ ...options, ...parts });
    closers.push(() => runtime.close());
    const lanes = new Lanes(WRITES_AT_ONCE);
    const context = { client, lanes, runtime, recorder, hostIP: address, clock, log };
    const manager = await PodManager.open(context);

    const registration = new Registration({
      client,
      description: describe(options),
      directory: options.stateDirectory,
      clock,
      log,
    });
    await registration.register(stop.signal);
    const running = Promise.all([informers.run(stop.signal), registration.run(stop.signal)]);
    closers.push(async () => {
      stop.abort();
      await running;
    });
    await orAborted(informers.synced(), stop.signal);
    const server = await startKubeletServer({
      client,
      nodeName: name,
      address,
      port: options.listenPort,
      directory: options.stateDirectory,
      pods: manager,
      logs,
      log,
      clock,
    });
    closers.push(() => server.close());
    closers.push(runServices(options, recorder, clock));
    const detach = followPods(pods, manager);
    closers.push(async () => {
      detach();
      await manager.close(CLOSE_GRACE_MS);
    });
    return { close };
  } catch (error) {
    stop.abort();
    await close();
    throw error;
  } finally {
    options.signal?.removeEventListener('abort', abortStart);
  }
}

function describe(options: AgentOptions): NodeDescription {
  const { name, address, labels, advertisePort, kubernetesVersion, version } = options;
  const machine = thisMachine();
  return { name, address, labels, kubeletPort: advertisePort, kubernetesVersion, version, machine };
}

/** Runs with its own identity, like kube-proxy in other clusters. Returns a function that stops it. */
function runServices(
  { name, address, proxyClient, stateDirectory, log }: AgentOptions,
  recorder: EventRecorder,
  clock: Clock,
): () => Promise<void> {
  const stop = new AbortController();
  const informers = new Informers(proxyClient, { clock, log });
  const services = informers.for(SERVICES);
  const slices = informers.for(ENDPOINT_SLICES);
  const nodePorts = new NodePorts({ nodeName: name, address, services, slices, recorder, log, clock });
  const clusterIPs = new ClusterIPs({
    nodeName: name,
    stateDirectory,
    services,
    slices,
    recorder,
    log,
    clock,
  });
  const running = Promise.all([
    informers.run(stop.signal),
    nodePorts.run(stop.signal),
    clusterIPs.run(stop.signal),
  ]);
  return async () => {
    stop.abort();
    await running;
  };
}

/** Passes every pod to the manager, and afterwards stops what is left of pods that no longer exist. */
function followPods(pods: Informer<Pod>, manager: PodManager): () => void {
  const detach = pods.addHandler({
    onAdd: (pod) => manager.put(pod),
    onUpdate: (_old, pod) => manager.put(pod),
    onDelete: (pod) => manager.remove(pod),
  });
  manager.endOrphans();
  return detach;
}
