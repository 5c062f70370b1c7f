/** What the parts of a node agent say to each other. Each part is one folder beside this file. */

import type { Pod } from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';

export type Container = core.Container;
export type ContainerStatus = core.ContainerStatus;

/** Where the things of one container lie: `STATE/pods/<uid>/containers/<name>/{root,logs}`. */
export interface ContainerPlace {
  podDirectory: string;
  directory: string;
  root: string;
  logDirectory: string;
}

/** `STATE/pods/<uid>`. The agent makes and removes the directory. */
export interface PodPlace {
  directory: string;
  container(name: string): ContainerPlace;
}

/** What an image stands for on a machine without images. */
export type ImageRule =
  | { kind: 'command'; command: string[]; env: Record<string, string> }
  | { kind: 'stand-in' }
  | { kind: 'absent'; message: string };

export interface Images {
  resolve(image: string): ImageRule;
}

/** The process that answers for an image nobody has. */
export interface StandIns {
  /** The command to run; its configuration follows the Services that select the pod until `release`. */
  command(pod: Pod, container: Container, place: ContainerPlace, podIP: string): Promise<string[]>;
  release(uid: string): Promise<void>;
  close(): Promise<void>;
}

/** How the stand-in ends when it may not bind a port below 1024: the agent then tells the user how to allow it. */
export const EXIT_PORT_NOT_ALLOWED = 77;

/** The files of a pod's volumes, kept current until `unmount`. `mount` may be called again for a mounted pod. */
export interface Volumes {
  /** Rejects with a VolumeError when something is missing or not supported here. */
  mount(pod: Pod, place: PodPlace, podIP: string): Promise<void>;
  unmount(uid: string): Promise<void>;
  close(): Promise<void>;
}

/** Becomes the event FailedMount; the pod stays ContainerCreating and is tried again. */
export class VolumeError extends Error {
  override readonly name = 'VolumeError';
}

export interface Environment {
  /** Everything the process gets. Rejects with an EnvError when a reference leads nowhere. */
  of(pod: Pod, container: Container, place: ContainerPlace, podIP: string): Promise<Record<string, string>>;
}

/** Becomes the waiting reason CreateContainerConfigError. */
export class EnvError extends Error {
  override readonly name = 'EnvError';
}

export interface LogOptions {
  follow?: boolean;
  tailLines?: number;
  sinceSeconds?: number;
  /** RFC 3339. */
  sinceTime?: string;
  timestamps?: boolean;
  limitBytes?: number;
}

/** Processes append to files by themselves, so that they outlive the agent; this keeps times, rotates and reads. */
export interface ContainerLogs {
  /** Where the process of a new attempt writes stdout and stderr. The attempt before becomes the previous log. */
  outputFor(place: ContainerPlace, restartCount: number): Promise<{ fd: number; close(): Promise<void> }>;
  /** Goes on with the log of a process that an earlier agent started. */
  resume(place: ContainerPlace, restartCount: number): Promise<void>;
  /** The process has ended: whoever follows the log gets the rest, and then the end. */
  ended(place: ContainerPlace): Promise<void>;
  read(
    place: ContainerPlace,
    which: 'current' | 'previous',
    options: LogOptions,
    signal: AbortSignal,
  ): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

/** What the kubelet's server asks about the pods of this node. */
export interface NodePods {
  list(): Pod[];
  /** The pod as it is known here, with the newest status; undefined when it is not of this node. */
  find(namespace: string, name: string): { pod: Pod; place: PodPlace } | undefined;
}
