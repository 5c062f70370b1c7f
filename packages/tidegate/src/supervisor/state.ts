/**
 * The state directory: everything that is kept of a cluster between two runs of `tidegate up`.
 *
 *   cluster.json       the layout, the address range, the ports, and which links are cut
 *   kubeconfig         the administrator's kubeconfig
 *   kube-proxy.token   the token of the NodePort proxies
 *   apiserver/         objects, keys and certificates
 *   nodes/NAME/        credentials, pods, addresses and hub of a node
 *   logs/*.log         the output of the processes
 *   children.json      the running processes (see leftovers.ts)
 *   lock-N             the lock of the running supervisor
 *   supervisor.sock    the control socket of the supervisor (see control.ts)
 *   hub-N.sock         the socket of node N's hub; a process that can open it is authenticated as the node
 */

import { access, chmod, constants, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory, quotePath, writeFileAtomically } from '@tidegate/disk';
import { isJsonMap } from '@tidegate/kube';
import { callerFor } from './caller.ts';
import { codeOf, SupervisorError } from './error.ts';
import type { NodeLayout } from './layout.ts';
import { type ClusterPorts, DEFAULT_PORTS, PORT_NAMES } from './ports.ts';

export interface NodeState extends NodeLayout {
  /** The last byte of the node's address. It is not reused while the node exists. */
  number: number;
  /** The port on 127.0.0.1 at which the node's hub reaches the API server; 0 until one is chosen. */
  apiPort: number;
  cut: boolean;
}

/** The content of cluster.json. */
export interface ClusterState {
  /** X in the addresses 127.X.0.n of nodes and 127.X.m.* of pods; 0 until a free range is chosen. */
  range: number;
  port: number;
  /** The ports that all nodes and routers use, each on its own address. */
  ports: ClusterPorts;
  /** The range of ClusterIPs. Clusters of version 0.1 have none, and their ClusterIPs do not answer. */
  serviceCIDR?: string;
  /** The path of the user's image table. */
  images?: string;
  /** The example objects have not been created yet. */
  awaitsStory?: boolean;
  nodes: NodeState[];
}

export const addressOf = ({ range }: Pick<ClusterState, 'range'>, { number }: NodeState): string =>
  `127.${range}.0.${number}`;

/** The paths in a state directory. */
export class StateDirectory {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  get clusterFile(): string {
    return join(this.path, 'cluster.json');
  }
  get childrenFile(): string {
    return join(this.path, 'children.json');
  }
  get kubeconfig(): string {
    return join(this.path, 'kubeconfig');
  }
  get apiserver(): string {
    return join(this.path, 'apiserver');
  }
  get logs(): string {
    return join(this.path, 'logs');
  }
  get images(): string {
    return join(this.path, 'images.yaml');
  }
  get proxyToken(): string {
    return join(this.path, 'kube-proxy.token');
  }
  get socket(): string {
    return join(this.path, 'supervisor.sock');
  }
  get nodes(): string {
    return join(this.path, 'nodes');
  }
  node(name: string): string {
    return join(this.nodes, name);
  }
  hub(name: string): string {
    return join(this.node(name), 'hub');
  }
  /** Not in the node's directory: the path of a socket must be short, and node names can be long. */
  hubSocket(number: number): string {
    return join(this.path, `hub-${number}.sock`);
  }
}

const STATE_FILES = [
  'cluster.json',
  'children.json',
  'kubeconfig',
  'kube-proxy.token',
  'apiserver',
  'nodes',
  'logs',
  'supervisor.sock',
];

/** Whether tidegate creates files of this name in the state directory. */
export const isStateFile = (entry: string): boolean =>
  STATE_FILES.includes(entry) ||
  /^lock-\d+/.test(entry) ||
  /^hub-\d+(-admin)?\.sock$/.test(entry) ||
  /^((cluster|children)\.json|kube-proxy\.token)\.\d+\.tmp$/.test(entry);

/**
 * Creates the directory if it does not exist, rejects a directory that holds something else, and makes it private: it
 * holds keys, and sockets that authenticate as a node.
 */
export async function prepareState(state: StateDirectory, report: (line: string) => void): Promise<void> {
  const { path } = state;
  try {
    makeDirectory(path);
    await access(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (codeOf(error) === 'EEXIST' || codeOf(error) === 'ENOTDIR') throw notADirectory(path);
    throw new SupervisorError(
      `cannot write to the state directory ${quotePath(path)} (${(error as Error).message}); choose another with --state`,
      { cause: error },
    );
  }
  for (const part of [state.logs, state.nodes, state.apiserver]) await requireWritable(part);
  const entries = await readdir(path);
  const foreign = entries.find((entry) => !isStateFile(entry) && join(path, entry) !== state.images);
  if (!entries.includes('cluster.json') && foreign !== undefined) {
    throw new SupervisorError(
      `${quotePath(path)} is not a tidegate state directory: it contains ${foreign} but no cluster.json; choose an empty or new directory with --state`,
    );
  }
  await makePrivate(path, report);
}

/** A directory that a process of the cluster will write to, if it exists. */
async function requireWritable(path: string): Promise<void> {
  try {
    await readdir(path);
    await access(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw new SupervisorError(
      `cannot write to the directory ${quotePath(path)} (${(error as Error).message}); correct its owner and mode, or choose another state directory with --state`,
      { cause: error },
    );
  }
}

async function makePrivate(path: string, report: (line: string) => void): Promise<void> {
  const mode = (await stat(path)).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  const shown = `${quotePath(path)} (mode ${mode.toString(8)})`;
  try {
    await chmod(path, 0o700);
  } catch (cause) {
    throw new SupervisorError(
      `other users can enter the state directory ${shown}, and it belongs to another user; choose another with --state`,
      { cause },
    );
  }
  report(`other users could enter the state directory ${shown}; changed its mode to 700`);
}

const notADirectory = (path: string): SupervisorError =>
  new SupervisorError(
    `the state directory ${quotePath(path)} is a file or is below a file; choose another with --state`,
  );

/** Undefined when the directory holds no cluster. */
export async function readCluster(state: StateDirectory): Promise<ClusterState | undefined> {
  let text: string;
  try {
    text = await readFile(state.clusterFile, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    if (codeOf(error) === 'ENOTDIR') throw notADirectory(state.path);
    throw new SupervisorError(`cannot read ${quotePath(state.clusterFile)}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  try {
    return checkCluster(JSON.parse(text));
  } catch (cause) {
    throw new SupervisorError(
      `${quotePath(state.clusterFile)} is damaged (${(cause as Error).message}): restore a good copy, or delete the cluster with \`${callerFor(state.path)('down --wipe')}\``,
      { cause },
    );
  }
}

export function writeCluster(state: StateDirectory, cluster: ClusterState): void {
  writeFileAtomically(state.clusterFile, `${JSON.stringify(cluster, undefined, 2)}\n`, 0o600);
}

export async function hasCluster(state: StateDirectory): Promise<boolean> {
  return stat(state.clusterFile).then(
    () => true,
    () => false,
  );
}

/** X + 64 in the range 127.X.0.0/16 of the nodes: no cluster has nodes or pods there. */
export const serviceCIDRFor = (range: number): string => `127.${range + 64}.0.0/16`;

const isServiceCIDR = (value: unknown): value is string =>
  typeof value === 'string' && /^127\.\d{1,3}\.0\.0\/16$/.test(value);

/** Validates cluster.json, which users may edit. */
function checkCluster(value: unknown): ClusterState {
  const cluster = object(value, 'the file');
  if (!Array.isArray(cluster.nodes)) throw new Error('nodes is not a list');
  const { images } = cluster;
  if (images !== undefined && typeof images !== 'string') throw new Error('images is not a string');
  const { serviceCIDR } = cluster;
  if (serviceCIDR !== undefined && !isServiceCIDR(serviceCIDR))
    throw new Error('serviceCIDR is not a range such as 127.128.0.0/16');
  return {
    range: number(cluster.range, 'range', 127),
    port: number(cluster.port, 'port', 65535),
    ports: ports(cluster.ports),
    ...(serviceCIDR === undefined ? {} : { serviceCIDR }),
    ...(images === undefined ? {} : { images }),
    ...(cluster.awaitsStory === true && { awaitsStory: true }),
    nodes: cluster.nodes.map((item: unknown, i) => {
      const node = object(item, `nodes[${i}]`);
      if (typeof node.name !== 'string' || node.name === '') throw new Error(`nodes[${i}].name is missing`);
      return {
        name: node.name,
        labels: labels(node.labels, `nodes[${i}].labels`),
        number: number(node.number, `nodes[${i}].number`, 254),
        apiPort: number(node.apiPort, `nodes[${i}].apiPort`, 65535),
        cut: node.cut === true,
      };
    }),
  };
}

function object(value: unknown, what: string): Record<string, unknown> {
  if (isJsonMap(value)) return { ...value };
  throw new Error(`${what} is not an object`);
}

function number(value: unknown, what: string, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most) return value;
  throw new Error(`${what} is not a number from 0 to ${most}`);
}

/** A cluster of an earlier version has none recorded, and used the default ports. */
function ports(value: unknown = {}): ClusterPorts {
  const recorded: Record<string, unknown> = { ...DEFAULT_PORTS, ...object(value, 'ports') };
  const checked = PORT_NAMES.map((name) => [name, number(recorded[name], `ports.${name}`, 65535)]);
  return Object.fromEntries(checked) as ClusterPorts;
}

function labels(value: unknown, what: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(object(value, what)).map(([key, text]) => {
      if (typeof text !== 'string') throw new Error(`${what}.${key} is not a string`);
      return [key, text];
    }),
  );
}
