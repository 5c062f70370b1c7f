/** What a node remembers of its pods: kept on disk, so that an agent knows what the one before it started. */

import type { Pod } from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';

export type Terminated = core.ContainerStateTerminated;

/** Which process it is. Numbers are given again; together with the time of its start one is unique. */
export interface ProcessHandle {
  pid: number;
  /** Field 22 of `/proc/<pid>/stat`: clock ticks since the machine started. */
  startTicks: string;
}

/** Why a container could not be started, and when that is tried again. */
export interface StartFailure {
  reason: string;
  message: string;
  attempts: number;
  at: number;
  retryAt: number;
}

export type ContainerState =
  | { type: 'waiting'; failure?: StartFailure }
  | { type: 'running'; startedAt: string; process: ProcessHandle }
  | { type: 'terminated'; terminated: Terminated };

export interface ContainerRecord {
  restartCount: number;
  state: ContainerState;
  /** The image that runs or ran, and what it stands for. */
  image: string;
  imageID: string;
  /** Of the newest attempt; empty before the first. */
  containerID: string;
  /** How the attempt before this one ended. */
  last?: Terminated;
  /** Ends in a row, each after a short life. */
  crashes: number;
  /** Ended because the agent did: not the container's fault, so it does not wait to be started again. */
  interrupted?: boolean;
}

export interface PodRecord {
  uid: string;
  namespace: string;
  name: string;
  startTime: string;
  graceSeconds: number;
  /** Known once address and volumes are there: from then on containers can be started. */
  podIP?: string;
  containers: Record<string, ContainerRecord>;
}

/** How a process ended; both are absent when nobody was there to see it. */
export interface Exit {
  code?: number;
  signal?: number;
  /** What the container left in its termination message file. */
  message?: string;
  /** What the user can do about it, if the node knows. */
  advice?: string;
}

export function newPod({ metadata, spec }: Pod, now: number): PodRecord {
  return {
    uid: metadata.uid!,
    namespace: metadata.namespace!,
    name: metadata.name!,
    startTime: timestamp(now),
    graceSeconds: spec?.terminationGracePeriodSeconds ?? 30,
    containers: {},
  };
}

export const newContainer = (image: string): ContainerRecord => ({
  restartCount: 0,
  state: { type: 'waiting' },
  image,
  imageID: '',
  containerID: '',
  crashes: 0,
});

/** Times as the API writes them. */
export const timestamp = (now: number): string => new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');

export interface Launch {
  process: ProcessHandle;
  containerID: string;
  image: string;
  imageID: string;
}

export function started(record: ContainerRecord, launch: Launch, now: number): ContainerRecord {
  const { process, ...what } = launch;
  const { interrupted: _, ...kept } = record;
  return {
    ...kept,
    ...what,
    restartCount: nextRestartCount(record),
    state: { type: 'running', startedAt: timestamp(now), process },
    last: record.state.type === 'terminated' ? record.state.terminated : record.last,
  };
}

/** The number of the attempt that would be started now. */
export const nextRestartCount = (record: ContainerRecord): number =>
  record.containerID === '' ? 0 : record.restartCount + 1;

export function startFailed(
  record: ContainerRecord,
  failure: Pick<StartFailure, 'reason' | 'message'>,
  now: number,
): ContainerRecord {
  const before = record.state.type === 'waiting' ? record.state.failure : undefined;
  const attempts = before?.reason === failure.reason ? before.attempts + 1 : 1;
  const at = before?.reason === failure.reason ? before.at : now;
  const retryAt = now + retryDelay(failure.reason, attempts);
  const last = record.state.type === 'terminated' ? record.state.terminated : record.last;
  return { ...record, last, state: { type: 'waiting', failure: { ...failure, attempts, at, retryAt } } };
}

const CONFIG_RETRY_MS = 5_000;
const BACKOFF_BASE_MS = 10_000;
const BACKOFF_MAX_MS = 300_000;
/** Whoever has lived this long starts anew with a clean slate. */
const STABLE_MS = 600_000;

/** Of references that lead nowhere the user may mend one at any time; the rest waits longer each time. */
function retryDelay(reason: string, attempts: number): number {
  if (reason === 'CreateContainerConfigError') return CONFIG_RETRY_MS;
  return doubled(attempts - 1);
}

const doubled = (times: number): number => Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** times);

/** How long the container waits after its newest end: not at all after the first one. */
export const crashDelay = (crashes: number): number => (crashes <= 1 ? 0 : doubled(crashes - 2));

/** When a container that ended may be started again. */
export function restartAt(record: ContainerRecord): number {
  if (record.state.type !== 'terminated' || record.interrupted === true) return 0;
  return Date.parse(record.state.terminated.finishedAt ?? '') + crashDelay(record.crashes);
}

export function exited(
  record: ContainerRecord,
  exit: Exit,
  now: number,
  interrupted = false,
): ContainerRecord {
  if (record.state.type !== 'running') return record;
  const { startedAt } = record.state;
  const terminated: Terminated = {
    ...outcomeOf(exit),
    startedAt,
    finishedAt: timestamp(now),
    containerID: record.containerID,
  };
  const stable = now - Date.parse(startedAt) >= STABLE_MS;
  const crashes = interrupted ? record.crashes : (stable ? 0 : record.crashes) + 1;
  return {
    ...record,
    state: { type: 'terminated', terminated },
    crashes,
    ...(interrupted ? { interrupted } : {}),
  };
}

/** A shell's convention, which container runtimes follow: 128 + the signal's number. */
function outcomeOf({ code, signal, message }: Exit): Pick<Terminated, 'exitCode' | 'reason' | 'message'> {
  const text = message === undefined || message === '' ? {} : { message };
  if (code === undefined && signal === undefined) {
    return {
      exitCode: 137,
      reason: 'ContainerStatusUnknown',
      message: 'The container ended while no agent was there to see how',
    };
  }
  const exitCode = code ?? 128 + (signal ?? 0);
  return { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', ...text };
}
