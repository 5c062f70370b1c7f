import { ownField, type Pod } from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';
import { type IsStarted, isSidecar, restarts } from './lifecycle.ts';
import {
  type ContainerRecord,
  crashDelay,
  newContainer,
  type PodRecord,
  restartAt,
  type StartFailure,
  type Terminated,
} from './record.ts';

/** What the status of a container depends on, besides its own process. */
export interface Circumstances {
  record: PodRecord;
  isStarted: IsStarted;
  isReady(name: string): boolean;
  isInit: boolean;
  /** No container will be started any more. */
  ending: boolean;
  phase: string;
  now: number;
}

/** The status of one container as the kubelet reports it. */
export function containerStatus(
  pod: Pod,
  container: core.Container,
  circumstances: Circumstances,
): core.ContainerStatus {
  const { name } = container;
  const record = ownField(circumstances.record.containers, name) ?? newContainer(container.image ?? '');
  const running = record.state.type === 'running';
  const started = running && circumstances.isStarted(name);
  return {
    name,
    ...statesOf(pod, container, record, circumstances),
    ready: isReady(container, record, circumstances),
    restartCount: record.restartCount,
    image: record.image,
    imageID: record.imageID,
    ...(record.containerID === '' ? {} : { containerID: record.containerID }),
    started,
  };
}

/** An init container is ready when it has completed; all others while they run and their probes succeed. */
function isReady(container: core.Container, { state }: ContainerRecord, at: Circumstances): boolean {
  if (at.isInit && !isSidecar(container)) {
    return state.type === 'terminated' && state.terminated.exitCode === 0;
  }
  return state.type === 'running' && at.isStarted(container.name) && at.isReady(container.name);
}

type States = Pick<core.ContainerStatus, 'state' | 'lastState'>;

/**
 * The current and the previous state. A terminated container that waits for its restart is shown as waiting
 * (CrashLoopBackOff), and its end moves to `lastState`, as in the kubelet.
 */
function statesOf(
  pod: Pod,
  container: core.Container,
  record: ContainerRecord,
  { ending, phase, now }: Circumstances,
): States {
  const { state } = record;
  switch (state.type) {
    case 'running':
      return { state: { running: { startedAt: state.startedAt } }, lastState: lastOf(record.last) };
    case 'waiting':
      return {
        state: { waiting: waitingFor(pod, container, state.failure, now) },
        lastState: lastOf(record.last),
      };
    case 'terminated': {
      const over = ending || phase === 'Succeeded' || phase === 'Failed';
      const again = !over && restarts(pod.spec!, container, state.terminated.exitCode);
      if (!again || restartAt(record) <= now) {
        return { state: { terminated: state.terminated }, lastState: lastOf(record.last) };
      }
      const message = `back-off ${goDuration(crashDelay(record.crashes))} restarting failed container=${container.name} pod=${podText(pod)}`;
      return {
        state: { waiting: { reason: 'CrashLoopBackOff', message } },
        lastState: lastOf(state.terminated),
      };
    }
  }
}

const lastOf = (terminated: Terminated | undefined): core.ContainerState =>
  terminated === undefined ? {} : { terminated };

/** How long ErrImagePull is shown before it becomes ImagePullBackOff. */
const PULL_ERROR_SHOWN_MS = 2_000;

/** When the next container changes from ErrImagePull to ImagePullBackOff. */
export function pullErrorEnds({ containers }: PodRecord, now: number): number | undefined {
  const ends = Object.values(containers).map(({ state }) => {
    if (state.type !== 'waiting' || state.failure?.reason !== 'ErrImagePull') return 0;
    return state.failure.at + PULL_ERROR_SHOWN_MS;
  });
  const next = ends.filter((at) => at > now);
  return next.length === 0 ? undefined : Math.min(...next);
}

/** The waiting reason: the last start failure, or the phase of the pod's start. */
function waitingFor(
  pod: Pod,
  container: core.Container,
  failure: StartFailure | undefined,
  now: number,
): core.ContainerStateWaiting {
  if (failure === undefined) {
    const initializes = (pod.spec?.initContainers ?? []).length > 0;
    return { reason: initializes ? 'PodInitializing' : 'ContainerCreating' };
  }
  if (failure.reason === 'ErrImagePull' && now - failure.at >= PULL_ERROR_SHOWN_MS) {
    const message = `Back-off pulling image ${JSON.stringify(container.image)}: ErrImagePull: ${failure.message}`;
    return { reason: 'ImagePullBackOff', message };
  }
  return { reason: failure.reason, message: failure.message };
}

/** `name_namespace(uid)`, the form that the kubelet uses. */
export const podText = ({ metadata }: Pod): string =>
  `${metadata.name}_${metadata.namespace}(${metadata.uid})`;

/** Formats a duration like Go: 90,000 ms is `1m30s`. */
export function goDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
