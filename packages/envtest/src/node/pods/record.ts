/**
 * What a node remembers of its pods. It is stored on disk, so that an agent can continue with the processes of its
 * predecessor.
 */

import type { Pod } from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';

export type Terminated = core.ContainerStateTerminated;

/** Identifies a process. Pids are reused, but a pid together with its start time is unique until the next boot. */
export interface ProcessHandle {
  pid: number;
  /** Field 22 of `/proc/<pid>/stat`: clock ticks since the machine started. */
  startTicks: string;
}

/** Why a container could not be started, and when the next attempt is due. */
export interface StartFailure {
  reason: string;
  message: string;
  attempts: number;
  at: number;
  retryAt: number;
}

/** What is known about the process of a container. */
export type ContainerState =
  | { type: 'waiting'; failure?: StartFailure }
  | { type: 'running'; startedAt: string; process: ProcessHandle }
  | { type: 'terminated'; terminated: Terminated };

/** The state of one container across restarts of the container and of the agent. */
export interface ContainerRecord {
  restartCount: number;
  state: ContainerState;
  /** The image of the latest attempt. */
  image: string;
  imageID: string;
  /** The id of the latest attempt; empty before the first. */
  containerID: string;
  /** How the previous attempt ended. */
  last?: Terminated;
  /** The number of ends in a row, each after a short run. */
  crashes: number;
  /** The agent stopped the container when it stopped itself, so the restart is not delayed. */
  interrupted?: boolean;
}

/**
 * What the agent remembers about a pod. It is stored on disk, so that a new agent continues with the same containers.
 */
export interface PodRecord {
  uid: string;
  namespace: string;
  name: string;
  startTime: string;
  graceSeconds: number;
  /** Set when address and volumes are ready; containers can be started from then on. */
  podIP?: string;
  /** The pod was active for too long, so its containers are stopped, and it fails with whatever exit codes they have. */
  expired?: boolean;
  containers: Record<string, ContainerRecord>;
}

/** How a process ended. Both code and signal are absent when no agent observed it. */
export interface Exit {
  code?: number;
  signal?: number;
  /** The content of the termination message file. */
  message?: string;
  /** What the user can do about the failure, if it is known. */
  advice?: string;
}

/** The record of a pod that has not started yet. */
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

/** The record of a container that has not started yet. */
export const newContainer = (image: string): ContainerRecord => ({
  restartCount: 0,
  state: { type: 'waiting' },
  image,
  imageID: '',
  containerID: '',
  crashes: 0,
});

/** The format of times in the API. */
export const timestamp = (now: number): string => new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');

/** A container that was started. */
export interface Launch {
  process: ProcessHandle;
  containerID: string;
  image: string;
  imageID: string;
}

/** The record after a successful start. The previous end becomes `last`. */
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

/** The restart count of the next attempt. */
export const nextRestartCount = (record: ContainerRecord): number =>
  record.containerID === '' ? 0 : record.restartCount + 1;

/** The record after a failed start. Repeated failures for the same reason back off. */
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

/** The exit code of a container that was created, but whose command could not be started. */
const EXIT_NOT_STARTED = 128;
/** The start of a container that has never run. */
const NEVER = timestamp(0);

/** The record of a container whose command cannot be started. It counts as ended, so that its pod can fail. */
export function notStarted(
  record: ContainerRecord,
  { containerID, image, message }: { containerID: string; image: string; message: string },
  now: number,
): ContainerRecord {
  const { interrupted: _, ...kept } = record;
  return {
    ...kept,
    image,
    containerID,
    restartCount: nextRestartCount(record),
    last: record.state.type === 'terminated' ? record.state.terminated : record.last,
    crashes: record.crashes + 1,
    state: {
      type: 'terminated',
      terminated: {
        exitCode: EXIT_NOT_STARTED,
        reason: 'StartError',
        message,
        startedAt: NEVER,
        finishedAt: timestamp(now),
        containerID,
      },
    },
  };
}

const CONFIG_RETRY_MS = 5_000;
const BACKOFF_BASE_MS = 10_000;
const BACKOFF_MAX_MS = 300_000;
/** A container that has run for this long starts again without backoff. */
const STABLE_MS = 600_000;

/** A user may fix a broken reference at any time, so it is retried at a constant rate. Other failures back off. */
function retryDelay(reason: string, attempts: number): number {
  if (reason === 'CreateContainerConfigError') return CONFIG_RETRY_MS;
  return doubled(attempts - 1);
}

const doubled = (times: number): number => Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** times);

/** The delay before a restart; there is none after the first end. */
export const crashDelay = (crashes: number): number => (crashes <= 1 ? 0 : doubled(crashes - 2));

/** When a terminated container may be started again, in milliseconds since the epoch. */
export function restartAt(record: ContainerRecord): number {
  if (record.state.type !== 'terminated' || record.interrupted === true) return 0;
  return Date.parse(record.state.terminated.finishedAt ?? '') + crashDelay(record.crashes);
}

/** The record after an end. `interrupted` means that the agent stopped the container, which is not a crash. */
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

/** 128 plus the signal number: the convention of shells, which container runtimes follow. */
function outcomeOf({ code, signal, message }: Exit): Pick<Terminated, 'exitCode' | 'reason' | 'message'> {
  const text = message === undefined || message === '' ? {} : { message };
  if (code === undefined && signal === undefined) {
    return {
      exitCode: 137,
      reason: 'ContainerStatusUnknown',
      message: 'The container ended while no agent was running, so its exit code is unknown',
    };
  }
  const exitCode = code ?? 128 + (signal ?? 0);
  return { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', ...text };
}
