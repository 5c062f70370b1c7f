/** From a state directory and what the user wants to a cluster that can be started, held by this process alone. */
import { access, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { DiskError, lockDirectory, lockOwner } from '@tidegate/disk';
import { readImages } from '@tidegate/envtest/node';
import { changeOf, type LayoutChange, placeNodes } from './change.ts';
import { SupervisorError } from './error.ts';
import { exampleLayout, layoutFromFile, layoutFromNames, type NodeLayout } from './layout.ts';
import { awaitLeftovers } from './leftovers.ts';
import { chooseRange, freePort } from './links.ts';
import { type ClusterState, prepareState, readCluster, type StateDirectory, writeCluster } from './state.ts';

const DEFAULT_PORT = 6443;

/** What is not said stays as it was. */
export interface ClusterWish {
  /** 0 takes any free one. */
  port?: number;
  empty?: boolean;
  nodes?: string;
  file?: string;
  images?: string;
  /** False: without the example. */
  story?: boolean;
}

export interface OpenCluster {
  cluster: ClusterState;
  /** Undefined for a cluster that is new. */
  change?: LayoutChange;
  unlock(): Promise<void>;
}

export async function openCluster(
  state: StateDirectory,
  wish: ClusterWish,
  report: (line: string) => void,
): Promise<OpenCluster> {
  await prepareState(state);
  const unlock = await lock(state);
  try {
    await awaitLeftovers(state.childrenFile, report);
    const before = await readCluster(state);
    const layout = await wantedLayout(wish, before?.nodes);
    const images = wish.images === undefined ? before?.images : await existing(resolve(wish.images));
    // Each node reads it too, but would say so once a node, and in its log.
    readImages(images ?? state.images);
    const cluster: ClusterState = {
      range: before?.range ?? (await chooseRange()),
      port: wish.port === 0 ? await freePort(before?.port ?? 0) : (wish.port ?? before?.port ?? DEFAULT_PORT),
      ...(images === undefined ? {} : { images }),
      ...(wantsStory(wish, before) && { awaitsStory: true }),
      nodes: placeNodes(before, layout),
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

async function wantedLayout(
  { empty, nodes, file }: ClusterWish,
  existing: readonly NodeLayout[] | undefined,
): Promise<readonly NodeLayout[]> {
  if (empty === true) return [];
  if (nodes !== undefined) return layoutFromNames(nodes, existing ?? []);
  if (file !== undefined) return layoutFromFile(file, await readLayout(file));
  return existing ?? exampleLayout();
}

/** It plays on the example's nodes, and it is told once, even if the start that should have told it was interrupted. */
const wantsStory = (
  { story = true, empty = false, nodes, file }: ClusterWish,
  before: ClusterState | undefined,
): boolean =>
  story &&
  !empty &&
  nodes === undefined &&
  file === undefined &&
  (before?.awaitsStory ?? before === undefined);

async function existing(images: string): Promise<string> {
  try {
    await access(images);
    return images;
  } catch (cause) {
    throw new SupervisorError(`can not read the table of images: ${(cause as Error).message}`, { cause });
  }
}

async function readLayout(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new SupervisorError(`can not read the layout: ${(cause as Error).message}`, { cause });
  }
}
