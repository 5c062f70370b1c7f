/** Why something is not ready after the start, and where to look. Pure functions. */
import { quotePath } from '@tidegate/disk';
import { getCondition, type Pod } from '@tidegate/kube';
import type { L7Router } from '../api/index.ts';
import type { ChildStatus } from './child.ts';
import { lastLine } from './exit-reason.ts';
import { podsOf } from './routers.ts';

export interface NotReady {
  /** For example `node node-a` or `front door hangzhou`. */
  what: string;
  why: string;
  /** The arguments of `tidegate logs` that show more. */
  logs: string;
}

/** A node needs its hub first, so a hub that does not run is the more likely reason. */
export function nodeNotReady(
  name: string,
  hub: ChildStatus | undefined,
  agent: ChildStatus | undefined,
): NotReady {
  const [component, child] = hub?.state === 'running' ? ['node', agent] : ['hub', hub];
  const why =
    child === undefined || child.state === 'stopped'
      ? `its ${component} has not been started`
      : child.state === 'running'
        ? 'it has not reported that it is ready'
        : `its ${component} is ${child.state}${child.restarts > 0 ? ` after ${child.restarts} restarts` : ''}`;
  return { what: `node ${name}`, why, logs: `${component} ${name}` };
}

/**
 * The state of its pods explains most failures; otherwise the condition of the L7Router does. `failure` is the server error
 * that its sample request got, `silent` are the URLs where the router does not answer.
 */
export function doorNotReady(
  name: string,
  seen: { routers: readonly L7Router[]; pods: readonly Pod[] } | undefined,
  { failure, silent = [] }: { failure?: { status: number; host: string }; silent?: readonly string[] } = {},
): NotReady {
  const at = { what: `front door ${name}`, logs: `router ${name}` };
  if (seen === undefined) return { ...at, why: 'the API server does not respond', logs: 'apiserver' };
  const problem = podsOf({ name }, seen.pods).map(podProblem).find(Boolean);
  if (problem !== undefined) return { ...at, why: problem };
  const router = seen.routers.find(({ metadata }) => metadata.name === name);
  if (router === undefined) return { ...at, why: 'its L7Router does not exist yet', logs: 'manager' };
  const ready = getCondition(router.status?.conditions, 'Ready');
  if (ready?.status === 'True') {
    // Most often the application behind it does not run, for example because another program has its port.
    const behind = seen.pods.map(podProblem).find(Boolean);
    const what = failure === undefined ? silenceText(silent) : failureText(failure);
    return { ...at, why: `${what}${behind === undefined ? '' : ` (${behind})`}` };
  }
  return {
    ...at,
    why: ready?.message ?? 'its L7Router has no status yet',
    ...(ready === undefined && { logs: 'manager' }),
  };
}

/** Undefined for a pod that runs. */
function podProblem({ metadata, spec, status }: Pod): string | undefined {
  const pod = `pod ${metadata.namespace}/${metadata.name}`;
  if (spec?.nodeName === undefined) {
    return `${pod} is not scheduled: ${getPodCondition(status, 'PodScheduled') ?? 'no node has been chosen yet'}`;
  }
  const container = status?.containerStatuses?.find(({ ready }) => !ready);
  if (container === undefined) return undefined;
  const { state, lastState } = container;
  const ended = state?.terminated ?? lastState?.terminated;
  const reason = lastLine(ended?.message ?? '') ?? state?.waiting?.message;
  const now = stateText(state, ended !== undefined);
  return now === undefined ? undefined : `${pod} ${now}${reason === undefined ? '' : `: ${reason}`}`;
}

type ContainerState = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number]['state'];

function stateText(state: ContainerState, hasEnded: boolean): string | undefined {
  if (state?.waiting?.reason !== undefined) return `is in ${state.waiting.reason}`;
  if (state?.terminated !== undefined) return 'has exited';
  return hasEnded ? 'has been restarted and is not ready yet' : undefined;
}

const silenceText = (urls: readonly string[]): string =>
  urls.length === 0
    ? 'it does not answer requests yet'
    : `it does not answer requests yet at ${urls.join(', ')}`;

/** A router answers 503 while no endpoint is ready, and 502 while none accepts a connection. */
export const failureText = ({ status, host }: { status: number; host: string }): string =>
  `it answers ${status} for ${host}${status === 503 ? ': no endpoint is ready' : ''}`;

const getPodCondition = (status: Pod['status'], type: string): string | undefined =>
  status?.conditions?.find((condition) => condition.type === type)?.message;

export const reasonText = ({ what, why }: NotReady): string => `${what}: ${why}`;

export const notReadyText = (reason: NotReady, call: (command: string) => string): string =>
  `${reasonText(reason)}; see \`${call('logs')} ${reason.logs.split(' ').map(quotePath).join(' ')}\``;
