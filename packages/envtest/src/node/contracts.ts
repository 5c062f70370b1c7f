/** The interfaces between the parts of a node agent. Each part is a folder next to this file. */

import type { Pod } from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';

export type Container = core.Container;
export type ContainerStatus = core.ContainerStatus;

/** The directories of one container: `STATE/pods/<uid>/containers/<name>/{root,logs}`. */
export interface ContainerPlace {
  podDirectory: string;
  directory: string;
  root: string;
  logDirectory: string;
}

/** `STATE/pods/<uid>`. The agent creates and removes the directory. */
export interface PodPlace {
  directory: string;
  container(name: string): ContainerPlace;
}

/** What is run for an image. The machine has no container images, only programs. */
export type ImageRule =
  | { kind: 'command'; command: string[]; env: Record<string, string> }
  | { kind: 'stand-in' }
  | { kind: 'absent'; message: string };

/** Decides what to run for an image name. */
export interface Images {
  resolve(image: string): ImageRule;
}

/** The processes that replace images that are not available. */
export interface StandIns {
  /** The command to run. Its configuration file follows the Services that select the pod until `release`. */
  command(pod: Pod, container: Container, place: ContainerPlace, podIP: string): Promise<string[]>;
  release(uid: string): Promise<void>;
  close(): Promise<void>;
}

/** The exit code of a stand-in that may not bind a port below 1024; the agent then reports how to allow it. */
export const EXIT_PORT_NOT_ALLOWED = 77;

/** The files of a pod's volumes, kept up to date until `unmount`. `mount` may be called again for a mounted pod. */
export interface Volumes {
  /** Rejects with a VolumeError when a source is missing or not supported. */
  mount(pod: Pod, place: PodPlace, podIP: string): Promise<void>;
  unmount(uid: string): Promise<void>;
  close(): Promise<void>;
}

/** Reported in the event FailedMount. The pod stays ContainerCreating, and the mount is tried again. */
export class VolumeError extends Error {
  override readonly name = 'VolumeError';
}

/** Computes the environment variables of a container. */
export interface Environment {
  /** All variables of the process. Rejects with an EnvError when a reference cannot be resolved. */
  of(pod: Pod, container: Container, place: ContainerPlace, podIP: string): Promise<Record<string, string>>;
}

/** Reported as the waiting reason CreateContainerConfigError. */
export class EnvError extends Error {
  override readonly name = 'EnvError';
}

/** Which part of a log to read, as in `kubectl logs`. */
export interface LogOptions {
  follow?: boolean;
  tailLines?: number;
  sinceSeconds?: number;
  /** RFC 3339. */
  sinceTime?: string;
  timestamps?: boolean;
  limitBytes?: number;
}

/**
 * The logs of containers. Processes append to files by themselves, so that they outlive the agent; this part records
 * times, rotates and reads the files.
 */
export interface ContainerLogs {
  /**
   * Where the process of a new attempt writes stdout and stderr. The log of the attempt before becomes the previous
   * log.
   */
  outputFor(place: ContainerPlace, restartCount: number): Promise<{ fd: number; close(): Promise<void> }>;
  /** Continues the log of a process that an earlier agent started. */
  resume(place: ContainerPlace, restartCount: number): Promise<void>;
  /** The process has ended. Readers that follow the log receive the rest and then the end. */
  ended(place: ContainerPlace): Promise<void>;
  read(
    place: ContainerPlace,
    which: 'current' | 'previous',
    options: LogOptions,
    signal: AbortSignal,
  ): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

/** What the kubelet's server needs to know about the pods of this node. */
export interface NodePods {
  list(): Pod[];
  /** The pod with its latest status; undefined when it does not run on this node. */
  find(namespace: string, name: string): { pod: Pod; place: PodPlace } | undefined;
}
