/** How the supervisor's children are started: this program again, by another subcommand. */
import { join } from 'node:path';
import type { ChildSpec } from './child.ts';
import type { NodeCredentials } from './credentials.ts';
import { AGENT_PORT, KUBELET_PORT } from './links.ts';
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

/** Where a node reaches the API server. */
export const serverOf = (node: NodeState): string => `https://127.0.0.1:${node.apiPort}`;
