/** The columns of `kubectl get pods`. STATUS shows more than the phase: why containers wait or terminated. */
import { ageColumn, nameColumn, since, type Table } from '../table.ts';
import type { Container, ContainerState, ContainerStatus, Pod } from './types.ts';

interface Summary {
  ready: number;
  total: number;
  reason: string;
  restarts: string;
}

const or = (value: string | undefined): string => (value === undefined || value === '' ? '<none>' : value);

export const podTable: Table<Pod> = [
  nameColumn,
  {
    name: 'Ready',
    description: 'The aggregate readiness state of this pod for accepting traffic.',
    cell: (pod, now) => {
      const { ready, total } = summarize(pod, now);
      return `${ready}/${total}`;
    },
  },
  {
    name: 'Status',
    description: 'The aggregate status of the containers in this pod.',
    cell: (pod, now) => summarize(pod, now).reason,
  },
  {
    name: 'Restarts',
    description:
      'The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.',
    cell: (pod, now) => summarize(pod, now).restarts,
  },
  ageColumn,
  { name: 'IP', wide: true, field: 'status.podIP', cell: (pod) => or(pod.status.podIPs?.[0]?.ip) },
  { name: 'Node', wide: true, field: 'spec.nodeName', cell: (pod) => or(pod.spec.nodeName) },
  {
    name: 'Nominated Node',
    wide: true,
    field: 'status.nominatedNodeName',
    cell: (pod) => or(pod.status.nominatedNodeName),
  },
  { name: 'Readiness Gates', wide: true, field: 'spec.readinessGates', cell: readinessGates },
];

function readinessGates(pod: Pod): string {
  const gates = pod.spec.readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  const conditions = pod.status.conditions ?? [];
  const open = gates.filter(
    (gate) => conditions.find((condition) => condition.type === gate.conditionType)?.status === 'True',
  );
  return `${open.length}/${gates.length}`;
}

const hasCondition = (pod: Pod, type: string): boolean =>
  (pod.status.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');

const isSidecar = (container: Container | undefined): boolean => container?.restartPolicy === 'Always';

/** Why a container terminated. */
function deathOf(terminated: NonNullable<ContainerState['terminated']>): string {
  if ((terminated.reason ?? '') !== '') return terminated.reason ?? '';
  if ((terminated.signal ?? 0) !== 0) return `Signal:${terminated.signal}`;
  return `ExitCode:${terminated.exitCode ?? 0}`;
}

/** Counts restarts and records the time of the last one. */
class Restarts {
  count = 0;
  last = '';

  add(container: ContainerStatus): void {
    this.count += container.restartCount ?? 0;
    const finished = container.lastState?.terminated?.finishedAt ?? '';
    if (finished !== '' && (this.last === '' || Date.parse(finished) > Date.parse(this.last)))
      this.last = finished;
  }

  print(now: Date): string {
    return this.count === 0 || this.last === ''
      ? `${this.count}`
      : `${this.count} (${since(this.last, now)} ago)`;
  }
}

function summarize(pod: Pod, now: Date): Summary {
  const { phase = '' } = pod.status;
  const initial = (pod.status.reason ?? '') === '' ? phase : (pod.status.reason ?? '');
  const gated = (pod.status.conditions ?? []).some(
    (condition) => condition.type === 'PodScheduled' && condition.reason === 'SchedulingGated',
  );
  const init = summarizeInit(pod, gated ? 'SchedulingGated' : initial);
  const main =
    !init.initializing || hasCondition(pod, 'Initialized')
      ? summarizeMain(pod, init.reason, init.sidecarRestarts)
      : { ready: 0, reason: init.reason, restarts: init.restarts };
  const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar).length;
  return {
    ready: init.ready + main.ready,
    total: (pod.spec.containers ?? []).length + sidecars,
    reason: deletionReason(pod) ?? main.reason,
    restarts: main.restarts.print(now),
  };
}

function deletionReason(pod: Pod): string | undefined {
  if (pod.metadata.deletionTimestamp === undefined) return undefined;
  if (pod.status.reason === 'NodeLost') return 'Unknown';
  return pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed' ? undefined : 'Terminating';
}

function summarizeInit(pod: Pod, reason: string) {
  const specs = pod.spec.initContainers ?? [];
  const restarts = new Restarts();
  const sidecarRestarts = new Restarts();
  let ready = 0;
  for (const [i, status] of (pod.status.initContainerStatuses ?? []).entries()) {
    const sidecar = isSidecar(specs.find((container) => container.name === status.name));
    restarts.add(status);
    if (sidecar) sidecarRestarts.add(status);
    if (status.state?.terminated !== undefined && (status.state.terminated.exitCode ?? 0) === 0) continue;
    if (sidecar && status.started === true) {
      if (status.ready === true) ready++;
      continue;
    }
    const blocked = `Init:${initBlocker(status, `${i}/${specs.length}`)}`;
    return { reason: blocked, initializing: true, restarts, sidecarRestarts, ready };
  }
  return { reason, initializing: false, restarts, sidecarRestarts, ready };
}

function initBlocker(status: ContainerStatus, progress: string): string {
  if (status.state?.terminated !== undefined) return deathOf(status.state.terminated);
  const waiting = status.state?.waiting?.reason ?? '';
  return waiting !== '' && waiting !== 'PodInitializing' ? waiting : progress;
}

function summarizeMain(pod: Pod, initialReason: string, restarts: Restarts) {
  let reason = initialReason;
  let errorReason = '';
  let ready = 0;
  // In reverse order, so that the first container determines the result.
  for (const status of [...(pod.status.containerStatuses ?? [])].reverse()) {
    const { waiting, terminated, running } = status.state ?? {};
    restarts.add(status);
    if ((waiting?.reason ?? '') !== '') reason = waiting?.reason ?? '';
    else if (terminated !== undefined) {
      reason = deathOf(terminated);
      if ((terminated.exitCode ?? 0) !== 0) errorReason = reason;
    } else if (status.ready === true && running !== undefined) ready++;
  }
  if (reason === 'Completed') {
    if (ready > 0 && hasCondition(pod, 'Ready')) reason = 'Running';
    else if (errorReason !== '') reason = errorReason;
    else if (ready > 0) reason = 'NotReady';
  }
  return { ready, reason, restarts };
}
