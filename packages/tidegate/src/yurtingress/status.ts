/** Computes the status of a YurtIngress from the states of its front doors. Pure. */

import {
  type Condition,
  type ConditionUpdate,
  getCondition,
  isBeingDeleted,
  setCondition,
} from '@tidegate/kube';
import type { UnreadyInfo, YurtIngress, YurtIngressStatus } from '../api/index.ts';
import type { DoorState, Unready } from './door-state.ts';
import { readSpec } from './read-spec.ts';

/** The maximum number of pools in the message of the condition, to keep it readable. */
const MAX_IN_MESSAGE = 3;

/**
 * Returns the new status. `conditions`, `readyNum` and `unreadyNum` have the form of OpenYurt's proposal, in which
 * `conditions` is not a list of conditions. The standard condition `Ready` is therefore in `readiness`.
 */
export function statusOf(
  object: YurtIngress,
  states: ReadonlyMap<string, DoorState>,
  { defaultImage, now }: { defaultImage: string; now: number },
): YurtIngressStatus {
  const { replicas, image = defaultImage, certgenImage = '', pools } = readSpec(object.spec);
  const { generation } = object.metadata;
  const ready = [...states].flatMap(([pool, state]) => (state === 'ready' ? [pool] : []));
  const unready = unreadyOf(states);
  const infos = new Map(
    object.status?.conditions?.unreadypools?.map((each) => [each.pool.name, each.unreadyinfo] as const),
  );
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    ingress_controller_replicas_per_pool: replicas,
    ingress_controller_image: image,
    ingress_webhook_certgen_image: certgenImage,
    conditions: {
      readypools: ready,
      unreadypools: unready.map(([name, state]) => ({
        pool: { name, ingress_ips: [...(pools.get(name) ?? [])] },
        unreadyinfo: infoOf(state, infos.get(name), now),
      })),
    },
    readyNum: ready.length,
    unreadyNum: unready.length,
    readiness: [readinessOf(object, unready, ready.length, now)],
  };
}

const unreadyOf = (states: ReadonlyMap<string, DoorState>): [string, Unready][] =>
  [...states].flatMap(([pool, state]) => (state === 'ready' ? [] : [[pool, state] as [string, Unready]]));

/** Keeps the transition time as long as the type (Pending or Failure) is the same. */
function infoOf(state: Unready, old: UnreadyInfo | undefined, now: number): UnreadyInfo {
  const lastTransitionTime =
    old?.type === state.type ? old.lastTransitionTime : new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');
  return { ...state, lastTransitionTime };
}

function readinessOf(
  object: YurtIngress,
  unready: readonly [string, Unready][],
  ready: number,
  now: number,
): Condition {
  const { generation } = object.metadata;
  const update: ConditionUpdate = {
    type: 'Ready',
    ...(generation !== undefined && { observedGeneration: generation }),
    ...summary(object, unready, ready),
  };
  return getCondition(setCondition(object.status?.readiness ?? [], update, now), 'Ready')!;
}

/** The condition Ready. Failures hide pools that are only pending. */
function summary(
  object: YurtIngress,
  unready: readonly [string, Unready][],
  ready: number,
): Pick<ConditionUpdate, 'status' | 'reason' | 'message'> {
  const failing = unready.filter(([, { type }]) => type === 'Failure');
  const reported = failing.length > 0 ? failing : unready;
  if (isBeingDeleted(object)) return { status: 'False', reason: 'Deleting', message: inText(reported) };
  const [first] = reported;
  if (first !== undefined) return { status: 'False', reason: first[1].reason, message: inText(reported) };
  return ready === 0
    ? { status: 'True', reason: 'NoPools', message: 'spec.pools is empty' }
    : { status: 'True', reason: 'FrontDoorsReady', message: `${ready} of ${ready} front doors are ready` };
}

function inText(unready: readonly [string, Unready][]): string {
  const shown = unready.slice(0, MAX_IN_MESSAGE).map(([pool, { message }]) => `${pool}: ${message}`);
  const rest = unready.length - shown.length;
  return [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ');
}
