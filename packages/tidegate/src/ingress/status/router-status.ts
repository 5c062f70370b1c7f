/** What the status of an L7Router tells. Pure. */

import { type Condition, type ConditionUpdate, getCondition, setCondition } from '@tidegate/kube';
import {
  type L7Router,
  type L7RouterStatus,
  MOST_ROUTER_PROBLEMS,
  type RouterAddress,
  type RouterProblem,
} from '../../api/index.ts';
import type { Rollout } from './rollout.ts';

export interface RouterView {
  readonly addresses: readonly RouterAddress[];
  readonly hosts: number;
  readonly rules: number;
  readonly problems: readonly RouterProblem[];
  /** Names of pods that carry traffic, and how many there should be. */
  readonly readyPods: readonly string[];
  readonly replicas: number;
  readonly rollout: Rollout;
  /** Why the workload could not be made. */
  readonly provisionProblem?: string;
  /** Why the class can not be understood: then the router goes on as it was. */
  readonly classProblem?: string;
}

type OwnStatus = Omit<L7RouterStatus, 'agents'>;

/** All of it but the agents' own entries. */
export function routerStatus(router: L7Router, view: RouterView, now: number): OwnStatus {
  const { addresses, hosts, rules, problems } = view;
  const applied = appliedGeneration(router, view.readyPods);
  const updates = [ready(view), rolledOut(view), provisioned(view), capacityReached(router, view)];
  return {
    observedGeneration: router.metadata.generation,
    addresses: [...addresses],
    hosts,
    rules,
    ...(applied !== undefined && { appliedGeneration: applied }),
    problems: problems.slice(0, MOST_ROUTER_PROBLEMS),
    problemCount: problems.length,
    conditions: updates.map((update) => withCondition(router, update, now)),
  };
}

/** What all that carry traffic go by; unknown as long as one of them has not told. */
function appliedGeneration({ status }: L7Router, readyPods: readonly string[]): number | undefined {
  const told = new Map(status?.agents?.map(({ name, appliedGeneration }) => [name, appliedGeneration]));
  const generations = readyPods.map((pod) => told.get(pod));
  if (generations.length === 0 || generations.includes(undefined)) return undefined;
  return Math.min(...(generations as number[]));
}

function withCondition({ status, metadata }: L7Router, update: ConditionUpdate, now: number): Condition {
  const before = (status?.conditions ?? []) as Condition[];
  const { generation: observedGeneration } = metadata;
  return getCondition(setCondition(before, { ...update, observedGeneration }, now), update.type)!;
}

function ready({ readyPods, replicas, addresses, provisionProblem }: RouterView): ConditionUpdate {
  const not = (reason: string, message: string): ConditionUpdate => ({
    type: 'Ready',
    status: 'False',
    reason,
    message,
  });
  if (replicas === 0) return not('NoReplicas', 'it shall have no replicas: set replicas to 1 or more');
  if (readyPods.length === 0) {
    return provisionProblem === undefined
      ? not('NoPodReady', 'none of its pods is ready')
      : not('NotProvisioned', provisionProblem);
  }
  if (addresses.length === 0) return not('NoAddress', 'its Service has no address yet');
  const message = `${readyPods.length} of ${replicas} pods carry traffic`;
  return { type: 'Ready', status: 'True', reason: 'Serving', message };
}

/** Whether all replicas are as they were asked for. One that serves is enough to be ready. */
const rolledOut = ({ rollout: { done, reason, message } }: RouterView): ConditionUpdate => ({
  type: 'RolledOut',
  status: done ? 'True' : 'False',
  reason,
  message,
});

function provisioned({ provisionProblem, classProblem }: RouterView): ConditionUpdate {
  const type = 'Provisioned';
  if (provisionProblem !== undefined) {
    return { type, status: 'False', reason: 'ProvisionFailed', message: provisionProblem };
  }
  if (classProblem !== undefined) {
    return { type, status: 'False', reason: 'ClassNotUnderstood', message: classProblem };
  }
  return { type, status: 'True', reason: 'Provisioned', message: 'all that it needs is there' };
}

function capacityReached({ spec }: L7Router, { hosts, rules }: RouterView): ConditionUpdate {
  const { maxHosts = Number.POSITIVE_INFINITY, maxRules = Number.POSITIVE_INFINITY } = spec.capacity ?? {};
  const type = 'CapacityReached';
  const message = `${hosts} hosts, ${rules} rules`;
  if (hosts >= maxHosts) return { type, status: 'True', reason: 'HostsReached', message };
  if (rules >= maxRules) return { type, status: 'True', reason: 'RulesReached', message };
  return { type, status: 'False', reason: 'HasRoom', message };
}
