/** The status that the kubelet reports for a pod. Pure: computed from the pod, its record and its probes. */

import { ownField, type Pod } from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';
import { podConditions } from './conditions.ts';
import { containerStatus } from './container-status.ts';
import { DEADLINE_EXCEEDED } from './deadline.ts';
import { currentInit, type IsStarted, initFailed, isSidecar, restarts } from './lifecycle.ts';
import type { ContainerRecord, PodRecord } from './record.ts';

export type PodStatus = core.PodStatus & { observedGeneration?: number };

/** Everything that the status of a pod depends on, besides its spec. */
export interface Observed {
  record: PodRecord;
  hostIP: string;
  isStarted: IsStarted;
  isReady(name: string): boolean;
  /** All containers have ended and none will be restarted, because the pod is being deleted. */
  ending: boolean;
  now: number;
}

/** The complete status of the pod. */
export function podStatus(pod: Pod, observed: Observed): PodStatus {
  const spec = pod.spec!;
  const { record, hostIP } = observed;
  const phase = phaseOf(pod, observed);
  const initialized = currentInit(spec, record, observed.isStarted) === undefined;
  const statusOf = (container: core.Container, isInit: boolean): core.ContainerStatus =>
    containerStatus(pod, container, { ...observed, isInit, phase });
  const containerStatuses = spec.containers.map((container) => statusOf(container, false));
  const initContainerStatuses = spec.initContainers?.map((container) => statusOf(container, true));
  const { podIP } = record;
  return {
    phase,
    ...(record.expired && isOver(phase) ? DEADLINE_EXCEEDED : {}),
    conditions: podConditions(pod, {
      phase,
      initialized,
      statuses: containerStatuses,
      sidecars: initContainerStatuses?.filter((_, i) => isSidecar(spec.initContainers![i]!)) ?? [],
      hasAddress: podIP !== undefined && !isOver(phase),
      incomplete: incompleteInits(spec, observed),
      now: observed.now,
    }),
    hostIP,
    hostIPs: [{ ip: hostIP }],
    ...(podIP === undefined ? {} : { podIP, podIPs: [{ ip: podIP }] }),
    startTime: record.startTime,
    ...(initContainerStatuses === undefined ? {} : { initContainerStatuses }),
    containerStatuses,
    ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
  };
}

/** Whether the phase is final: such a pod is never started again. */
export const isOver = (phase: string | undefined): boolean => phase === 'Succeeded' || phase === 'Failed';

/** A final phase never changes, regardless of what wrote it. */
function phaseOf(pod: Pod, observed: Observed): string {
  const before = pod.status?.phase;
  if (before !== undefined && isOver(before)) return before;
  const spec = pod.spec!;
  const { record } = observed;
  if (initFailed(spec, record)) return 'Failed';
  if (record.expired && !hasRunning(record)) return 'Failed';
  const initialized = currentInit(spec, record, observed.isStarted) === undefined;
  if (observed.ending) return allSucceeded(spec, record) && initialized ? 'Succeeded' : 'Failed';
  if (!initialized) return 'Pending';
  const containers = spec.containers.map((container) => ({
    container,
    record: ownField(record.containers, container.name),
  }));
  if (containers.some((c) => c.record === undefined || isFirstStart(c.record))) return 'Pending';
  const ended = containers.every(
    ({ container, record: r }) =>
      r?.state.type === 'terminated' && !restarts(spec, container, r.state.terminated.exitCode),
  );
  if (!ended) return 'Running';
  return allSucceeded(spec, record) ? 'Succeeded' : 'Failed';
}

const hasRunning = ({ containers }: PodRecord): boolean =>
  Object.values(containers).some(({ state }) => state.type === 'running');

const isFirstStart = ({ state, containerID }: ContainerRecord): boolean =>
  state.type === 'waiting' && containerID === '';

const allSucceeded = (spec: core.PodSpec, record: PodRecord): boolean =>
  spec.containers.every(({ name }) => {
    const state = ownField(record.containers, name)?.state;
    return state?.type === 'terminated' && state.terminated.exitCode === 0;
  });

/** The current init container and those after it. */
function incompleteInits(spec: core.PodSpec, { record, isStarted }: Observed): string[] {
  const turn = currentInit(spec, record, isStarted);
  if (turn === undefined) return [];
  const names = spec.initContainers!.map(({ name }) => name);
  return names.slice(names.indexOf(turn.name));
}
