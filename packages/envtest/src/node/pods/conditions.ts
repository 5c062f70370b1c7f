import type { Pod } from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';
import { timestamp } from './record.ts';

type PodCondition = core.PodCondition;

/** Everything that the conditions of a pod depend on. */
export interface Facts {
  phase: string;
  initialized: boolean;
  statuses: core.ContainerStatus[];
  /** Init containers that keep running (sidecars). The pod is ready only when they are ready too. */
  sidecars: core.ContainerStatus[];
  hasAddress: boolean;
  /** Init containers that have not completed. */
  incomplete: string[];
  now: number;
}

interface ConditionState {
  status: 'True' | 'False';
  reason?: string;
  message?: string;
}

/** The conditions that the kubelet owns. Conditions of others, for example readiness gates, are not included. */
export function podConditions(pod: Pod, facts: Facts): PodCondition[] {
  const containersReady = containersReadyOf(facts);
  const states: Record<string, ConditionState> = {
    PodReadyToStartContainers: { status: facts.hasAddress ? 'True' : 'False' },
    Initialized: initializedOf(facts),
    Ready: readyOf(pod, containersReady),
    ContainersReady: containersReady,
    PodScheduled: { status: 'True' },
  };
  return Object.entries(states).map(([type, state]) => withTimes(pod, type, state, facts.now));
}

function initializedOf({ phase, initialized, incomplete }: Facts): ConditionState {
  if (phase === 'Succeeded') return { status: 'True', reason: 'PodCompleted' };
  if (initialized) return { status: 'True' };
  return {
    status: 'False',
    reason: 'ContainersNotInitialized',
    message: `containers with incomplete status: [${incomplete.join(' ')}]`,
  };
}

/** All main containers and sidecars must be ready; a finished pod is never ready. */
function containersReadyOf({ phase, statuses, sidecars }: Facts): ConditionState {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  const unready = [...sidecars, ...statuses].filter(({ ready }) => !ready).map(({ name }) => name);
  if (unready.length === 0) return { status: 'True' };
  return {
    status: 'False',
    reason: 'ContainersNotReady',
    message: `containers with unready status: [${unready.join(' ')}]`,
  };
}

/** A pod is ready when its containers are, and every readiness gate is True. */
function readyOf(pod: Pod, containersReady: ConditionState): ConditionState {
  if (containersReady.status !== 'True') return containersReady;
  const problems: string[] = [];
  for (const { conditionType } of pod.spec?.readinessGates ?? []) {
    const gate = pod.status?.conditions?.find(({ type }) => type === conditionType);
    const name = JSON.stringify(conditionType);
    if (gate === undefined)
      problems.push(`corresponding condition of pod readiness gate ${name} does not exist.`);
    else if (gate.status !== 'True')
      problems.push(`the status of pod readiness gate ${name} is not "True", but ${gate.status}`);
  }
  if (problems.length === 0) return { status: 'True' };
  return { status: 'False', reason: 'ReadinessGatesNotReady', message: problems.join(', ') };
}

/** The transition time changes only when the status changes. */
function withTimes(pod: Pod, type: string, state: ConditionState, now: number): PodCondition {
  const before = pod.status?.conditions?.find((condition) => condition.type === type);
  const since = before?.status === state.status ? before.lastTransitionTime : undefined;
  return { type, ...state, lastTransitionTime: since ?? timestamp(now) };
}

/** The agent's own condition times take precedence: it knows them even while it cannot report them. */
export function withOwnConditions(pod: Pod, own: core.PodStatus | undefined): Pod {
  if (own?.conditions === undefined) return pod;
  const types = new Set(own.conditions.map(({ type }) => type));
  const others = (pod.status?.conditions ?? []).filter(({ type }) => !types.has(type));
  return { ...pod, status: { ...pod.status, conditions: [...own.conditions, ...others] } };
}
