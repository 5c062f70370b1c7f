/** Computes the status of an L7Router whose load balancer is not a workload of Tidegate. Pure. */

import type { Condition, ConditionUpdate } from '@tidegate/kube';
import {
  type L7Router,
  type L7RouterStatus,
  MOST_FAILED_HOSTS,
  MOST_ROUTER_PROBLEMS,
} from '../../api/index.ts';
import type { RouterProgram } from '../programming/index.ts';
import { capacityReached, type RouterContent, withCondition } from './router-status.ts';

/**
 * The status of a router that the manager programs. Undefined while its provisioner has not answered: a restarted manager
 * must not report less than was true before.
 */
export function managedStatus(
  router: L7Router,
  content: RouterContent,
  program: RouterProgram,
  now: number,
): L7RouterStatus | undefined {
  const { ensured, problem } = program;
  if (ensured === undefined && problem === undefined) return undefined;
  const { status: before, metadata } = router;
  const addresses = [...(ensured?.addresses ?? before?.addresses ?? [])];
  const loadBalancer = ensured?.loadBalancer ?? before?.loadBalancer;
  // A load balancer that takes the place of another one has no routes yet.
  const isSame = before?.loadBalancer?.id === undefined || before.loadBalancer.id === loadBalancer?.id;
  const appliedGeneration = program.appliedGeneration ?? (isSame ? before?.appliedGeneration : undefined);
  const failedHosts = program.failed
    ? [...program.failed]
        .map(([host, { reason, message }]) => ({ host, reason, message: message.slice(0, 1_024) }))
        .sort((a, b) => (a.host < b.host ? -1 : 1))
        .slice(0, MOST_FAILED_HOSTS)
    : before?.failedHosts;
  const updates = [
    ready(program, addresses.length, appliedGeneration),
    provisioned(program),
    programmed(program, metadata.generation),
  ];
  return {
    observedGeneration: metadata.generation,
    addresses,
    ...(appliedGeneration !== undefined && { appliedGeneration }),
    ...(failedHosts !== undefined && failedHosts.length > 0 && { failedHosts }),
    ...(loadBalancer !== undefined && { loadBalancer: { ...loadBalancer } }),
    ...contentStatus(router, content, updates, now),
  };
}

/** What the manager reports of a router that another program runs. All other fields belong to that program. */
export const externalStatus = (router: L7Router, content: RouterContent, now: number): L7RouterStatus =>
  contentStatus(router, content, [], now);

function contentStatus(
  router: L7Router,
  content: RouterContent,
  updates: readonly ConditionUpdate[],
  now: number,
): L7RouterStatus {
  const { hosts, rules, problems, conditions = [] } = content;
  const all = [...updates, capacityReached(router, content), ...conditions];
  return {
    hosts,
    rules,
    problems: problems.slice(0, MOST_ROUTER_PROBLEMS),
    problemCount: problems.length,
    conditions: all.map((update): Condition => withCondition(router, update, now)),
  };
}

function ready(
  { ensured, problem }: RouterProgram,
  addresses: number,
  appliedGeneration: number | undefined,
): ConditionUpdate {
  const not = (reason: string, message: string): ConditionUpdate => ({
    type: 'Ready',
    status: 'False',
    reason,
    message,
  });
  if (ensured === undefined)
    return not(problem?.reason ?? 'NotProvisioned', problem?.message ?? 'The load balancer is being created');
  if (!ensured.ready)
    return not(ensured.reason ?? 'NotReady', ensured.message ?? 'The load balancer is not ready');
  if (addresses === 0) return not('NoAddress', 'The load balancer has no address yet');
  if (appliedGeneration === undefined) return not('NotProgrammed', 'The load balancer has no routes yet');
  return { type: 'Ready', status: 'True', reason: 'Serving', message: 'The load balancer serves its hosts' };
}

/** The load balancer of a ready router can differ from the settings of its class, if they cannot be changed later. */
function provisioned({ problem, ensured }: RouterProgram): ConditionUpdate {
  const not = (reason: string, message: string): ConditionUpdate => ({
    ...{ type: 'Provisioned', status: 'False', reason, message },
  });
  if (problem !== undefined) return not(problem.reason ?? 'ProvisionFailed', problem.message);
  if (ensured?.message !== undefined) return not(ensured.reason ?? 'ProvisionFailed', ensured.message);
  return { type: 'Provisioned', status: 'True', reason: 'Provisioned', message: 'The load balancer exists' };
}

/** Whether the load balancer has the routes of the current generation. Hosts can fail all the same. */
function programmed(
  { programProblem, appliedGeneration, failed }: RouterProgram,
  generation: number | undefined,
): ConditionUpdate {
  const type = 'Programmed';
  if (programProblem !== undefined)
    return {
      ...{ type, status: 'False', reason: programProblem.reason ?? 'ProgramFailed' },
      message: programProblem.message,
    };
  if (appliedGeneration !== generation)
    return { type, status: 'False', reason: 'Programming', message: 'The routes are being programmed' };
  const failing = failed?.size ?? 0;
  return failing === 0
    ? { type, status: 'True', reason: 'Programmed', message: 'All hosts are programmed' }
    : {
        type,
        status: 'False',
        reason: 'HostsFailed',
        message: `${failing === 1 ? 'One host is' : `${failing} hosts are`} not served as the Ingresses say: see status.failedHosts`,
      };
}
