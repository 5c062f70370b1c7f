/** Turns a state directory and the user's options into a cluster that can be started, locked by this process. */
import { access, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { DiskError, lockDirectory, lockOwner } from '@tidegate/disk';
import { readImages } from '@tidegate/envtest/node';
import { changeOf, type LayoutChange, numberNodes } from './change.ts';
import { SupervisorError } from './error.ts';
import { exampleLayout, layoutFromFile, layoutFromNames, type NodeLayout } from './layout.ts';
import { awaitLeftovers } from './leftovers.ts';
import { chooseRange, freePort } from './links.ts';
import {
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

/** A cluster that is ready to be started. Call `unlock` when it has stopped. */
export interface OpenCluster {
  cluster: ClusterState;
  /** Undefined for a new cluster. */
  change?: LayoutChange;
  unlock(): Promise<void>;
}

/** The lock is taken first: everything after it may assume that no other supervisor uses the directory. */
export async function openCluster(
  state: StateDirectory,
  options: ClusterOptions,
  report: (line: string) => void,
): Promise<OpenCluster> {
  await prepareState(state);
  const unlock = await lock(state);
  try {
    await awaitLeftovers(state.childrenFile, report);
    const before = await readCluster(state);
    const layout = await wantedLayout(options, before?.nodes);
    const images =
      options.images === undefined ? before?.images : await readablePath(resolve(options.images));
    // Every node agent reads the table too, but would report an error once for each node, and only in its log.
    readImages(images ?? state.images);
    const range = before?.range ?? (await chooseRange());
    // ClusterIPs cannot change, so a cluster keeps the range that it was created with.
    const serviceCIDR = before === undefined ? serviceCIDRFor(range) : before.serviceCIDR;
    const cluster: ClusterState = {
      range,
      port:
        options.port === 0
          ? await freePort(before?.port ?? 0)
          : (options.port ?? before?.port ?? DEFAULT_PORT),
      ...(serviceCIDR === undefined ? {} : { serviceCIDR }),
      ...(images === undefined ? {} : { images }),
      ...(needsStory(options, before) && { awaitsStory: true }),
      nodes: numberNodes(before, layout),
    };
    writeCluster(state, cluster);
    return { cluster, change: before && changeOf(before.nodes, cluster.nodes), unlock };
  } catch (error) {
    await unlock();
    throw error;
  }
}

async function lock(state: StateDirectory): Promise<() => Promise<void>> {
  try {
    return await lockDirectory(state.path);
  } catch (cause) {
    if (!(cause instanceof DiskError && cause.code === 'locked')) throw cause;
    const owner = await lockOwner(state.path);
    throw new SupervisorError(
      `a cluster is already running in ${state.path}${owner === undefined ? '' : ` (pid ${owner.pid})`}; stop it with \`tidegate down --state ${state.path}\`, or start another one with --state DIR`,
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
