/** How the supervisor's children are started: this program again, by another subcommand. */
import { join } from 'node:path';
import type { ChildSpec } from './child.ts';
import type { NodeCredentials } from './credentials.ts';
import { hubOf } from './layout.ts';
import { AGENT_PORT, HUB_PORTS, KUBELET_PORT } from './links.ts';
import { addressOf, type ClusterState, type NodeState, type StateDirectory } from './state.ts';

export interface ProgramOptions {
  /** Runs the program; arguments follow. */
  program: readonly string[];
  state: StateDirectory;
  cluster: ClusterState;
  logLevel: string;
  /** How long a silent node counts as ready. */
  nodeGraceMs: number;
}

/** An agent ends its pods first, by force after 10 s; only one that hangs takes longer than this. */
const NODE_STOP_MS = 30_000;

export function apiserverSpec({ program, state, cluster, logLevel }: ProgramOptions): ChildSpec {
  return {
    name: 'apiserver',
    command: [
      ...program,
      'apiserver',
      ...['--data', state.apiserver],
      ...['--port', String(cluster.port)],
      ...['--kubeconfig', state.kubeconfig],
      ...['--log-level', logLevel],
    ],
    log: join(state.logs, 'apiserver.log'),
    stopMs: 10_000,
  };
}

export function controllersSpec(options: ProgramOptions): ChildSpec {
  const { program, state, cluster } = options;
  return {
    name: 'controllers',
    command: [
      ...program,
      'controllers',
      ...['--kubeconfig', state.kubeconfig],
      ...['--cluster-cidr', `127.${cluster.range}.0.0/16`],
      ...['--node-grace', `${options.nodeGraceMs}ms`],
      ...['--log-level', options.logLevel],
    ],
    log: join(state.logs, 'controllers.log'),
    stopMs: 10_000,
  };
}

/** It is the only one, so it leads at once; also after it was killed, without waiting for a lease to expire. */
export function managerSpec({ program, state, logLevel }: ProgramOptions): ChildSpec {
  return {
    name: 'manager',
    command: [
      ...program,
      'manager',
      '--install-crds',
      '--leader-elect=false',
      ...['--kubeconfig', state.kubeconfig],
      ...['--webhook-port', '0'],
      ...['--health-port', '0'],
      ...['--log-level', logLevel],
    ],
    log: join(state.logs, 'manager.log'),
    stopMs: 10_000,
  };
}

/** On the node's own address, where its agent and its pods find it. */
export function hubSpec(
  { program, state, cluster, logLevel }: ProgramOptions,
  node: NodeState,
  credentials: NodeCredentials,
): ChildSpec {
  const address = addressOf(cluster, node);
  return {
    name: hubOf(node.name),
    command: [
      ...program,
      'hub',
      ...['--node', node.name],
      ...['--kubeconfig', credentials.hub],
      ...['--hub-address', address],
      ...['--bind-address', address],
      ...['--port', String(HUB_PORTS.http)],
      ...['--secure-port', String(HUB_PORTS.https)],
      ...['--admin-port', String(HUB_PORTS.admin)],
      ...['--state', state.hub(node.name)],
      ...['--socket', state.hubSocket(node.number)],
      ...['--log-level', logLevel],
    ],
    log: join(state.logs, `${hubOf(node.name)}.log`),
    stopMs: 10_000,
  };
}

export function nodeSpec(
  { program, state, cluster, logLevel }: ProgramOptions,
  node: NodeState,
  credentials: NodeCredentials,
): ChildSpec {
  return {
    name: node.name,
    command: [
      ...program,
      'node',
      ...['--name', node.name],
      ...['--kubeconfig', credentials.kubelet],
      ...['--proxy-kubeconfig', credentials.proxy],
      ...['--address', addressOf(cluster, node)],
      ...['--listen-port', String(AGENT_PORT)],
      ...['--advertise-port', String(KUBELET_PORT)],
      ...['--state', state.node(node.name)],
      ...Object.entries(node.labels).flatMap(([key, value]) => ['--label', `${key}=${value}`]),
      ...['--images', cluster.images ?? state.images],
      ...['--log-level', logLevel],
    ],
    log: join(state.logs, `${node.name}.log`),
    stopMs: NODE_STOP_MS,
  };
}

/** Where the hub of a node reaches the API server. */
export const serverOf = (node: NodeState): string => `https://127.0.0.1:${node.apiPort}`;

/** Where everything else on the node does. */
export const hubServerOf = (cluster: ClusterState, node: NodeState): string =>
  `https://${addressOf(cluster, node)}:${HUB_PORTS.https}`;
