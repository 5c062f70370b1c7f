/** Which containers of a pod should be started now. Pure: computed from the spec and the record of the containers. */
import { ownField } from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';
import type { Container } from '../contracts.ts';
import { type ContainerRecord, type PodRecord, restartAt } from './record.ts';

type PodSpec = core.PodSpec;

/** The containers to start now. */
export interface NextSteps {
  start: Container[];
  /** When to look again if nothing happens before. */
  wakeAt?: number;
}

/** Whether the container has passed its startup probe, or has none. */
export type IsStarted = (name: string) => boolean;

/** An init container that keeps running beside the containers of the pod (KEP-753). */
export const isSidecar = (container: Container): boolean => container.restartPolicy === 'Always';

/** Init containers first, in the order in which they start. */
export const allContainers = (spec: PodSpec): Container[] => [
  ...(spec.initContainers ?? []),
  ...spec.containers,
];

/** The containers that are due now, and when the next one will be. Containers in backoff are due later. */
export function nextSteps(spec: PodSpec, record: PodRecord, isStarted: IsStarted, now: number): NextSteps {
  const due = [...dueSidecars(spec, record, isStarted), ...dueInTurn(spec, record, isStarted)];
  const start: Container[] = [];
  let wakeAt: number | undefined;
  for (const container of due) {
    const at = startableAt(ownField(record.containers, container.name));
    if (at <= now) start.push(container);
    else wakeAt = Math.min(wakeAt ?? at, at);
  }
  return wakeAt === undefined ? { start } : { start, wakeAt };
}

/** Sidecars whose turn has passed and that are not running: they run as long as the pod. */
function dueSidecars(spec: PodSpec, record: PodRecord, isStarted: IsStarted): Container[] {
  const turn = currentInit(spec, record, isStarted);
  const init = spec.initContainers ?? [];
  const passed = turn === undefined ? init : init.slice(0, init.indexOf(turn));
  return passed.filter((container) => isSidecar(container) && !isRunning(record, container));
}

/** The init container whose turn it is, or all main containers after the last init container. */
function dueInTurn(spec: PodSpec, record: PodRecord, isStarted: IsStarted): Container[] {
  const turn = currentInit(spec, record, isStarted);
  const candidates = turn === undefined ? spec.containers : [turn];
  return candidates.filter((container) => !isRunning(record, container) && mayStart(spec, record, container));
}

/** The init container whose turn it is; undefined when all are done. */
export function currentInit(spec: PodSpec, record: PodRecord, isStarted: IsStarted): Container | undefined {
  // Once a main container has run, the pod was initialized, whatever happens to its sidecars later.
  if (spec.containers.some(({ name }) => hasRun(ownField(record.containers, name)))) return undefined;
  return spec.initContainers?.find((container) => !isInitDone(record, container, isStarted));
}

/** Whether the container was started at least once. */
export const hasRun = (container: ContainerRecord | undefined): boolean =>
  container !== undefined && container.containerID !== '';

/** A sidecar is done with its turn when it has started; a plain init container when it has succeeded. */
function isInitDone(record: PodRecord, container: Container, isStarted: IsStarted): boolean {
  const state = ownField(record.containers, container.name)?.state;
  if (isSidecar(container)) return state?.type === 'running' && isStarted(container.name);
  return state?.type === 'terminated' && state.terminated.exitCode === 0;
}

const isRunning = (record: PodRecord, { name }: Container): boolean =>
  ownField(record.containers, name)?.state.type === 'running';

function mayStart(spec: PodSpec, record: PodRecord, container: Container): boolean {
  const state = ownField(record.containers, container.name)?.state;
  return state?.type !== 'terminated' || restarts(spec, container, state.terminated.exitCode);
}

/** Whether a container that ended with this code is restarted. An init container that succeeded never is. */
export function restarts(spec: PodSpec, container: Container, exitCode: number): boolean {
  if (isSidecar(container)) return true;
  const isInit = spec.initContainers?.some(({ name }) => name === container.name) ?? false;
  switch (spec.restartPolicy) {
    case 'Never':
      return false;
    case 'OnFailure':
      return exitCode !== 0;
    default:
      return !isInit || exitCode !== 0;
  }
}

/** When the container may be started, in milliseconds since the epoch; 0 means immediately. */
function startableAt(container: ContainerRecord | undefined): number {
  if (container === undefined) return 0;
  if (container.state.type === 'waiting') return container.state.failure?.retryAt ?? 0;
  return restartAt(container);
}

/** An init container that failed and is not restarted ends the pod. */
export function initFailed(spec: PodSpec, record: PodRecord): boolean {
  return (spec.initContainers ?? []).some((container) => {
    const state = ownField(record.containers, container.name)?.state;
    if (state?.type !== 'terminated' || state.terminated.exitCode === 0) return false;
    return !restarts(spec, container, state.terminated.exitCode);
  });
}
