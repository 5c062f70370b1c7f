import type { Pod } from '@tidegate/kube';
import type { Container, ContainerPlace, PodPlace } from '../contracts.ts';
import type { ContainerRecord, Exit, PodRecord, ProcessHandle } from './record.ts';

/** A container that runs. */
export interface Process {
  readonly handle: ProcessHandle;
  readonly exited: Promise<Exit>;
  /** SIGTERM reaches the container's first process, SIGKILL its children too; one that has ended feels nothing. */
  signal(signal: 'SIGTERM' | 'SIGKILL'): void;
}

export interface Launched {
  process: Process;
  imageID: string;
  /** What the image stands for, in a sentence for the user. */
  note: string;
  /** Where it must listen before it counts as started; undefined when that is not for the node to know. */
  listensOn?: number;
}

/** What carries the containers of a node's pods. */
export interface Runtime {
  /**
   * Gives the pod its address and its volumes; again when its labels or annotations have changed. Rejects with a
   * SetUpError or a VolumeError.
   */
  setUp(pod: Pod): Promise<{ podIP: string }>;
  /** Rejects with a StartError. `containerID` is new for each attempt. */
  start(pod: Pod, container: Container, attempt: Attempt): Promise<Launched>;
  /** The process of an earlier agent, if it is still that one and runs. */
  adopt(known: Known): Promise<Process | undefined>;
  /** The containers have ended for good: takes back address and volumes. The logs stay. */
  release(uid: string): Promise<void>;
  /** The pod is gone: nothing of it is kept. */
  remove(uid: string): Promise<void>;
  place(uid: string): PodPlace;
  /** Everything that earlier agents left behind. */
  load(): Promise<PodRecord[]>;
  save(record: PodRecord): Promise<void>;
  /** Probes need something that listens. */
  readonly probes: boolean;
  close(): Promise<void>;
}

/** A container that ran when its agent ended. */
export interface Known {
  /** Undefined when the pod is gone since. */
  container: Container | undefined;
  record: ContainerRecord;
  place: ContainerPlace;
  handle: ProcessHandle;
}

export interface Attempt {
  containerID: string;
  restartCount: number;
  podIP: string;
}

/** The pod can not be set up now. `reason` is that of the event; it is tried again. */
export class SetUpError extends Error {
  override readonly name = 'SetUpError';
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The container can not be started now. `reason` is what it waits for. */
export class StartError extends Error {
  override readonly name = 'StartError';
  readonly reason: 'ErrImagePull' | 'CreateContainerConfigError' | 'RunContainerError';

  constructor(reason: StartError['reason'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
