/** Computes the status of an L7Router. Pure. */

import { type Condition, type ConditionUpdate, getCondition, setCondition } from '@tidegate/kube';
import {
  type L7Router,
  type L7RouterStatus,
  MOST_ROUTER_PROBLEMS,
  type RouterAddress,
  type RouterProblem,
} from '../../api/index.ts';
import type { Rollout } from './rollout.ts';

/** The part of the routes of a family that is on a router. */
export interface RouterContent {
  readonly hosts: number;
  readonly rules: number;
  readonly problems: readonly RouterProblem[];
  /** Conditions that placement has found. */
  readonly conditions?: readonly ConditionUpdate[];
}

/** What the status controller observed of one router. */
export interface ObservedRouter extends RouterContent {
  readonly addresses: readonly RouterAddress[];
  /** Whether an agent in the pods reports the generation. ingress-nginx has none. */
  readonly hasAgents: boolean;
  /** Names of ready pods. */
  readonly readyPods: readonly string[];
  /** Desired number of pods. */
  readonly replicas: number;
  readonly rollout: Rollout;
  /** Why provisioning failed. */
  readonly provisionProblem?: string;
  /** Ready pods of a router without a pool that run on nodes of pools, with the node and its pool. */
  readonly strayed?: readonly { pod: string; node: string; pool: string }[];
  /** Why the class has no valid parameters. The router is left unchanged then. */
  readonly classProblem?: string;
}

/** The type of a condition that is only set if it is false. */
export const SEES_ALL_POOLS = 'SeesAllPools';

type OwnStatus = Omit<L7RouterStatus, 'agents'>;

/** The complete status except for `agents`, which each agent writes itself. */
export function routerStatus(router: L7Router, observed: ObservedRouter, now: number): OwnStatus {
  const { addresses, hosts, rules, problems } = observed;
  const applied = appliedGeneration(router, observed.readyPods);
  const updates = [
    ready(observed, applied),
    rolledOut(observed),
    provisioned(observed),
    capacityReached(router, observed),
    ...(observed.conditions ?? []),
    ...seesAllPools(observed),
  ];
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

/** The lowest generation that a ready pod has applied. Undefined until every ready pod has reported. */
function appliedGeneration({ status }: L7Router, readyPods: readonly string[]): number | undefined {
  const reported = new Map(status?.agents?.map(({ name, appliedGeneration }) => [name, appliedGeneration]));
  const generations = readyPods.map((pod) => reported.get(pod));
  if (generations.length === 0 || generations.includes(undefined)) return undefined;
  return Math.min(...(generations as number[]));
}

export function withCondition(
  { status, metadata }: L7Router,
  update: ConditionUpdate,
  now: number,
): Condition {
  const before = (status?.conditions ?? []) as Condition[];
  const { generation: observedGeneration } = metadata;
  return getCondition(setCondition(before, { ...update, observedGeneration }, now), update.type)!;
}

function ready(
  { readyPods, replicas, addresses, provisionProblem, hasAgents }: ObservedRouter,
  applied: number | undefined,
): ConditionUpdate {
  const notReady = (reason: string, message: string): ConditionUpdate => ({
    type: 'Ready',
    status: 'False',
    reason,
    message,
  });
  if (replicas === 0)
    return notReady(
      'NoReplicas',
      'The router has no replicas: set spec.workload.replicas, or the parameter replicas of the class, to 1 or more',
    );
  if (readyPods.length === 0) {
    return provisionProblem === undefined
      ? notReady('NoPodReady', 'No pod is ready')
      : notReady('NotProvisioned', provisionProblem);
  }
  if (addresses.length === 0) return notReady('NoAddress', 'The Service has no address yet');
  if (hasAgents && applied === undefined)
    return notReady('NotReported', 'No router has reported that it serves the hosts yet');
  const message = `${readyPods.length} of ${replicas} pods are ready`;
  return { type: 'Ready', status: 'True', reason: 'Serving', message };
}

/** Whether all replicas are updated and available. For Ready, one ready pod is enough. */
const rolledOut = ({ rollout: { done, reason, message } }: ObservedRouter): ConditionUpdate => ({
  type: 'RolledOut',
  status: done ? 'True' : 'False',
  reason,
  message,
});

function provisioned({ provisionProblem, classProblem }: ObservedRouter): ConditionUpdate {
  const type = 'Provisioned';
  if (provisionProblem !== undefined) {
    return { type, status: 'False', reason: 'ProvisionFailed', message: provisionProblem };
  }
  if (classProblem !== undefined) {
    return { type, status: 'False', reason: 'ClassNotUnderstood', message: classProblem };
  }
  return {
    type,
    status: 'True',
    reason: 'Provisioned',
    message: 'All objects of the router are provisioned',
  };
}

/**
 * In a pool, a hub hides the endpoints of Services that are limited to other pools. A pod of the router that runs there answers
 * 503 for them, and is ready nevertheless. The condition is only set if there are such pods.
 */
function seesAllPools({ strayed = [] }: ObservedRouter): ConditionUpdate[] {
  const [first] = strayed;
  if (first === undefined) return [];
  const { pod, node, pool } = first;
  const more = strayed.length > 1 ? ` and ${strayed.length - 1} more` : '';
  return [
    {
      type: SEES_ALL_POOLS,
      status: 'False',
      reason: 'RunsInPool',
      message: `Pod ${pod}${more} runs on node ${node} of pool ${pool}: if the node has a hub, the router cannot use Services of other pools, and answers 503 for them. Add a node outside of all pools, or set spec.pool`,
    },
  ];
}

export function capacityReached(
  { spec }: L7Router,
  { hosts, rules }: Pick<RouterContent, 'hosts' | 'rules'>,
): ConditionUpdate {
  const { maxHosts = Number.POSITIVE_INFINITY, maxRules = Number.POSITIVE_INFINITY } = spec.capacity ?? {};
  const type = 'CapacityReached';
  const message = `${hosts} hosts, ${rules} rules`;
  if (hosts >= maxHosts) return { type, status: 'True', reason: 'HostsReached', message };
  if (rules >= maxRules) return { type, status: 'True', reason: 'RulesReached', message };
  return { type, status: 'False', reason: 'HasRoom', message };
}
