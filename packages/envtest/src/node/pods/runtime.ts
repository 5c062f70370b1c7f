import { DiskError, diskFailure, isDiskErrno } from '@tidegate/disk';
import type { Pod } from '@tidegate/kube';
import {
  type Container,
  type ContainerPlace,
  type Inside,
  type PodPlace,
  VolumeError,
} from '../contracts.ts';
import type { ContainerRecord, Exit, PodRecord, ProcessHandle } from './record.ts';

/** A running container. */
export interface Process {
  readonly handle: ProcessHandle;
  readonly exited: Promise<Exit>;
  /** SIGTERM goes to the first process of the container, SIGKILL to all of them. No effect after the end. */
  signal(signal: 'SIGTERM' | 'SIGKILL'): void;
}

/** The result of starting a container. */
export interface Launched {
  process: Process;
  imageID: string;
  /** What was run for the image, as the message of the Pulled event. */
  note: string;
  /** The port on which it must listen before it counts as started; undefined when the node cannot know. */
  listensOn?: number;
  /** For probes and hooks; undefined when the container does not run its own command. */
  inside?: Inside;
}

/** Runs the containers of a node's pods. */
export interface Runtime {
  /**
   * Sets up the address and the volumes of the pod; called again when its labels or annotations have changed.
   * Rejects with a SetUpError or a VolumeError.
   */
  setUp(pod: Pod): Promise<{ podIP: string }>;
  /** Rejects with a StartError. `containerID` is new for each attempt. */
  start(pod: Pod, container: Container, attempt: Attempt): Promise<Launched>;
  /** Adopts the process of an earlier agent, if exactly that process is still running. */
  adopt(known: Known): Promise<Process | undefined>;
  /** Releases address and volumes after the containers have ended for good. The logs are kept. */
  release(uid: string): Promise<void>;
  /** Removes everything when the pod no longer exists. */
  remove(uid: string): Promise<void>;
  /** For `kubectl exec`; undefined when the container does not run its own command. */
  inside(uid: string, container: string): Inside | undefined;
  place(uid: string): PodPlace;
  /** The records that earlier agents left. */
  load(): Promise<PodRecord[]>;
  save(record: PodRecord): Promise<void>;
  /** Whether containers can be probed, that is, whether they really listen. */
  readonly probes: boolean;
  close(): Promise<void>;
}

/** A container that was running when its agent stopped. */
export interface Known {
  /** Undefined when the pod no longer exists. */
  container: Container | undefined;
  record: ContainerRecord;
  place: ContainerPlace;
  handle: ProcessHandle;
}

/** One of possibly many starts of a container. */
export interface Attempt {
  containerID: string;
  restartCount: number;
  podIP: string;
}

/** The pod cannot be set up now and is tried again. `reason` is the reason of the event. */
export class SetUpError extends Error {
  override readonly name = 'SetUpError';
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The event for a pod that cannot be set up now. Throws an error that is none of these problems. */
export function setUpProblem(error: unknown): { reason: string; message: string } {
  if (error instanceof SetUpError) return { reason: error.reason, message: error.message };
  if (error instanceof VolumeError) return { reason: 'FailedMount', message: error.message };
  if (!(error instanceof DiskError) && !isDiskErrno(error)) throw error;
  const { message } = error as Error;
  return {
    reason: 'FailedCreatePodSandBox',
    message: `the disk of the node refuses the files of the pod: ${message}`,
  };
}

/**
 * The container cannot be started now. `reason` is its waiting reason; with `StartError`, the container was created, and
 * has ended without having run.
 */
export class StartError extends Error {
  override readonly name = 'StartError';
  readonly reason:
    | 'ErrImagePull'
    | 'CreateContainerConfigError'
    | 'CreateContainerError'
    | 'RunContainerError'
    | 'StartError';

  constructor(reason: StartError['reason'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

type ProblemEvent = [type: 'normal' | 'warning', reason: string, message: string];

/** The events for a container that cannot be started now. */
export function startProblems(
  { name, image = '' }: Container,
  { reason, message }: StartError,
): ProblemEvent[] {
  const failed: ProblemEvent = ['warning', 'Failed', `Error: ${message}`];
  if (reason === 'StartError') return [['normal', 'Created', `Created container: ${name}`], failed];
  if (reason !== 'ErrImagePull') return [failed];
  return [
    ['warning', 'Failed', `Failed to pull image ${JSON.stringify(image)}: ${message}`],
    ['normal', 'BackOff', `Back-off pulling image ${JSON.stringify(image)}`],
  ];
}

/** The message of the event for a pod that cannot be synced now, for example because its directory is on a full disk. */
export function syncProblem(directory: string, error: unknown): string {
  const { message } = isDiskErrno(error) ? diskFailure(directory, error) : (error as Error);
  return `Error syncing pod: ${message}`;
}
