/** Turns a state directory and the user's options into a cluster that can be started, locked by this process. */
import { access, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { DiskError, lockDirectory, lockOwner, quotePath } from '@tidegate/disk';
import { readImages } from '@tidegate/envtest/node';
import { callerFor } from './caller.ts';
import { changeOf, type LayoutChange, numberNodes } from './change.ts';
import { requireSpace } from './disk-watch.ts';
import { SupervisorError } from './error.ts';
import { freePort } from './free-port.ts';
import { exampleLayout, layoutFromFile, layoutFromNames, type NodeLayout } from './layout.ts';
import { awaitLeftovers, endContainers } from './leftovers.ts';
import { choosePorts, DEFAULT_PORTS, freeIn, PORT_NAMES } from './ports.ts';
import { type HeldRange, holdRange } from './range.ts';
import {
  addressOf,
  type ClusterState,
  prepareState,
  readCluster,
  type StateDirectory,
  serviceCIDRFor,
  writeCluster,
} from './state.ts';

const DEFAULT_PORT = 6443;

/** The options of `tidegate up`. An option that is absent keeps the value of the existing cluster. */
export interface ClusterOptions {
  /** 0 means any free port. */
  port?: number;
  empty?: boolean;
  nodes?: string;
  file?: string;
  images?: string;
  /** False: do not create the example objects. */
  story?: boolean;
}

/** A cluster that is ready to be started. Call `close` when it has stopped. */
export interface OpenCluster {
  cluster: ClusterState;
  /** Undefined for a new cluster. */
  change?: LayoutChange;
  /** Releases the address range and the lock of the state directory. */
  close(): Promise<void>;
}

/** The lock is taken first: everything after it may assume that no other supervisor uses the directory. */
export async function openCluster(
  state: StateDirectory,
  options: ClusterOptions,
  report: (line: string) => void,
): Promise<OpenCluster> {
  await prepareState(state, report);
  const unlock = await lock(state);
  let held: HeldRange | undefined;
  const close = async (): Promise<void> => {
    await held?.release();
    await unlock();
  };
  try {
    await awaitLeftovers(state.childrenFile, report);
    const before = await readCluster(state);
    const layout = await wantedLayout(options, before?.nodes);
    await requireSpace(state.path, { isNew: before === undefined, nodes: layout.length });
    const images =
      options.images === undefined ? before?.images : await readablePath(resolve(options.images));
    // Every node agent reads the table too, but would report an error once for each node, and only in its log.
    readImages(images ?? state.images);
    held = await holdRange(before?.range);
    const { range } = held;
    // ClusterIPs cannot change, so a cluster keeps the range that it was created with.
    const serviceCIDR = before === undefined ? serviceCIDRFor(range) : before.serviceCIDR;
    const nodes = numberNodes(before, layout);
    const free = freeIn(
      range,
      nodes.map((node) => addressOf({ range }, node)),
    );
    const cluster: ClusterState = {
      range,
      port: await apiPort(options.port, before?.port, report),
      ports: await choosePorts(before?.ports ?? DEFAULT_PORTS, free, report),
      ...(serviceCIDR === undefined ? {} : { serviceCIDR }),
      ...(images === undefined ? {} : { images }),
      ...(needsStory(options, before) && { awaitsStory: true }),
      nodes,
    };
    if (before !== undefined && before.range !== range) {
      report(
        `another cluster uses the addresses 127.${before.range}.0.0/16; nodes and pods get addresses from 127.${range}.0.0/16 instead`,
      );
    }
    // Pods that outlived their agents know the old addresses and ports.
    if (before !== undefined && !sameAddresses(before, cluster)) await endContainers(state.nodes, report);
    writeCluster(state, cluster);
    return { cluster, change: before && changeOf(before.nodes, cluster.nodes), close };
  } catch (error) {
    await close();
    throw error;
  }
}

const sameAddresses = (a: ClusterState, b: ClusterState): boolean =>
  a.range === b.range && PORT_NAMES.every((name) => a.ports[name] === b.ports[name]);

/** A port that the user asks for is used or rejected. Without a wish, another one is chosen if the usual one is in use. */
async function apiPort(
  wanted: number | undefined,
  before: number | undefined,
  report: (line: string) => void,
): Promise<number> {
  if (wanted === 0) return freePort(before ?? 0);
  const usual = wanted ?? before ?? DEFAULT_PORT;
  const port = await freePort(usual);
  if (port === usual) return port;
  const inUse = `port ${usual} on 127.0.0.1 is already in use`;
  if (wanted !== undefined) {
    throw new SupervisorError(`${inUse}; choose another with --port (0 selects a free port)`);
  }
  report(`${inUse}; the API server uses ${port} instead`);
  return port;
}

async function lock(state: StateDirectory): Promise<() => Promise<void>> {
  try {
    return await lockDirectory(state.path);
  } catch (cause) {
    if (!(cause instanceof DiskError && cause.code === 'locked')) throw cause;
    const owner = await lockOwner(state.path);
    throw new SupervisorError(
      `a cluster is already running in ${quotePath(state.path)}${owner === undefined ? '' : ` (pid ${owner.pid})`}; stop it with \`${callerFor(state.path)('down')}\`, or start another one with --state DIR`,
      { cause },
    );
  }
}

/** The layout that the options ask for; without options, that of the existing cluster or the example. */
async function wantedLayout(
  { empty, nodes, file }: ClusterOptions,
  existing: readonly NodeLayout[] | undefined,
): Promise<readonly NodeLayout[]> {
  if (empty === true) return [];
  if (nodes !== undefined) return layoutFromNames(nodes, existing ?? []);
  if (file !== undefined) return layoutFromFile(file, await readLayout(file));
  return existing ?? exampleLayout();
}

/**
 * The example needs the nodes of the example layout. It is created once; `awaitsStory` stays set until then, also
 * when the first start is interrupted.
 */
const needsStory = (
  { story = true, empty = false, nodes, file }: ClusterOptions,
  before: ClusterState | undefined,
): boolean =>
  story &&
  !empty &&
  nodes === undefined &&
  file === undefined &&
  (before?.awaitsStory ?? before === undefined);

async function readablePath(images: string): Promise<string> {
  try {
    await access(images);
    return images;
  } catch (cause) {
    throw new SupervisorError(`cannot read the image table: ${(cause as Error).message}`, { cause });
  }
}

async function readLayout(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new SupervisorError(`cannot read the layout file: ${(cause as Error).message}`, { cause });
  }
}
