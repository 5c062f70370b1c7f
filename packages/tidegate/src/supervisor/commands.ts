/** The command line of each child process: this same program with another subcommand. */
import { join } from 'node:path';
import type { ChildSpec } from './child.ts';
import type { NodeCredentials } from './credentials.ts';
import { hubOf } from './layout.ts';
import { addressOf, type ClusterState, type NodeState, type StateDirectory } from './state.ts';

/** What the commands of all child processes have in common. */
export interface ProgramOptions {
  /** The executable and its leading arguments; the subcommand is appended. */
  program: readonly string[];
  state: StateDirectory;
  cluster: ClusterState;
  logLevel: string;
  /** Containers run their own commands. Not kept in the state: the user allows it for each run. */
  runCommands?: boolean;
  /** More arguments of the manager. Not kept in the state: they name files and a cloud of the user. */
  managerArguments?: readonly string[];
  /** How long a node stays Ready after its last heartbeat. */
  nodeGraceMs: number;
}

/** An agent stops its pods first and kills them after 10 s, so only an agent that hangs takes longer than this. */
const NODE_STOP_MS = 30_000;

/** The child process of the API server. */
export function apiserverSpec({ program, state, cluster, logLevel }: ProgramOptions): ChildSpec {
  return {
    name: 'apiserver',
    command: [
      ...program,
      'apiserver',
      ...['--state', state.apiserver],
      ...['--port', String(cluster.port)],
      ...(cluster.serviceCIDR === undefined ? [] : ['--service-cluster-ip-range', cluster.serviceCIDR]),
      ...['--kubeconfig', state.kubeconfig],
      ...['--log-level', logLevel],
      '--pod-metrics',
    ],
    log: join(state.logs, 'apiserver.log'),
    stopMs: 10_000,
    servedAt: {
      url: `https://127.0.0.1:${cluster.port}/livez`,
      caFile: join(state.apiserver, 'pki/ca.crt'),
    },
  };
}

/** The child process of the built-in controllers and the scheduler. */
export function controllersSpec(options: ProgramOptions): ChildSpec {
  const { program, state, cluster } = options;
  return {
    name: 'controllers',
    command: [
      ...program,
      'controllers',
      ...['--kubeconfig', state.kubeconfig],
      ...['--cluster-cidr', `127.${cluster.range}.0.0/16`],
      ...['--node-monitor-grace-period', `${options.nodeGraceMs}ms`],
      ...['--log-level', options.logLevel],
    ],
    log: join(state.logs, 'controllers.log'),
    stopMs: 10_000,
  };
}

/** Leader election is off: this is the only manager, and after a kill it must not wait for its old lease to expire. */
export function managerSpec(options: ProgramOptions): ChildSpec {
  const { program, state, cluster, logLevel, managerArguments = [] } = options;
  return {
    name: 'manager',
    command: [
      ...program,
      'manager',
      '--install-crds',
      '--leader-elect=false',
      ...['--kubeconfig', state.kubeconfig],
      ...['--webhook-port', '0'],
      ...['--admin-port', '0'],
      ...['--router-http-port', String(cluster.ports.routerHttp)],
      ...['--router-https-port', String(cluster.ports.routerHttps)],
      ...['--router-admin-port', String(cluster.ports.routerAdmin)],
      ...['--log-level', logLevel],
      ...managerArguments,
    ],
    log: join(state.logs, 'manager.log'),
    stopMs: 10_000,
  };
}

/** The hub listens on the node's own address, where the agent and the pods of the node find it. */
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
      ...['--node-name', node.name],
      ...['--kubeconfig', credentials.hub],
      ...['--hub-address', address],
      ...['--bind-address', address],
      ...['--http-port', String(cluster.ports.hubHttp)],
      ...['--https-port', String(cluster.ports.hubHttps)],
      ...['--admin-port', String(cluster.ports.hubAdmin)],
      ...['--group-port', String(cluster.ports.hubGroup)],
      ...['--state', state.hub(node.name)],
      ...['--socket', state.hubSocket(node.number)],
      ...['--log-level', logLevel],
    ],
    log: join(state.logs, `${hubOf(node.name)}.log`),
    stopMs: 10_000,
    servedAt: { url: `http://${address}:${cluster.ports.hubAdmin}/healthz` },
  };
}

/** The child process of one node. */
export function nodeSpec(
  { program, state, cluster, logLevel, runCommands }: ProgramOptions,
  node: NodeState,
  credentials: NodeCredentials,
): ChildSpec {
  return {
    name: node.name,
    command: [
      ...program,
      'node',
      ...['--node-name', node.name],
      ...['--kubeconfig', credentials.kubelet],
      ...['--proxy-kubeconfig', credentials.proxy],
      ...['--address', addressOf(cluster, node)],
      ...['--port', String(cluster.ports.agent)],
      ...['--advertise-port', String(cluster.ports.kubelet)],
      ...['--state', state.node(node.name)],
      ...Object.entries(node.labels).flatMap(([key, value]) => ['--label', `${key}=${value}`]),
      ...['--images', cluster.images ?? state.images],
      // `tidegate up` has checked already whether root may run commands.
      ...(runCommands === true ? ['--run-commands-as-root'] : []),
      ...['--log-level', logLevel],
    ],
    log: join(state.logs, `${node.name}.log`),
    stopMs: NODE_STOP_MS,
  };
}

/** The URL at which the hub of a node reaches the API server: the node's relay, which `tidegate cut` closes. */
export const serverOf = (node: NodeState): string => `https://127.0.0.1:${node.apiPort}`;

/** The URL of the hub, which everything else on the node uses as its API server. */
export const hubServerOf = (cluster: ClusterState, node: NodeState): string =>
  `https://${addressOf(cluster, node)}:${cluster.ports.hubHttps}`;
