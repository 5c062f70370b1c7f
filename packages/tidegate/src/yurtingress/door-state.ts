import { getCondition, isBeingDeleted, type KubeObject } from '@tidegate/kube';
import { type L7Router, type UnreadyType, YURT_INGRESS_LABEL } from '../api/index.ts';
import { isFailure } from '../ingress/status/index.ts';
import { conflictingObject, type Observed, ownerOf } from './observed.ts';

/** The state of one front door, as the status of its YurtIngress reports it. */
export type DoorState = 'ready' | Unready;

/** A front door that is not ready. `Pending` is expected to pass; `Failure` needs an action. */
export interface Unready {
  readonly type: UnreadyType;
  readonly reason: string;
  readonly message: string;
}

const pending = (reason: string, message: string): Unready => ({ type: 'Pending', reason, message });
const failure = (reason: string, message: string): Unready => ({ type: 'Failure', reason, message });

/** Returns the state of the front door of a pool, for the status of the YurtIngress with this name. */
export function doorState(observed: Observed, name: string): DoorState {
  const { pool, exists, router, ingressClass, namespace } = observed;
  const owner = ownerOf(observed)?.metadata.name;
  if (owner !== undefined && owner !== name) {
    return failure(
      'PoolTaken',
      `pool ${pool} already has a front door of YurtIngress ${owner}: remove the pool from one of the two`,
    );
  }
  const obstacle = conflictingObject(observed);
  if (obstacle !== undefined) return failure('ClassTaken', obstacleText(obstacle, name));
  if (!exists)
    return failure(
      'PoolNotFound',
      `there is no NodePool or NodeGroup ${pool}: create it, or remove it from spec.pools`,
    );
  const terminating = [namespace, ingressClass, router].find(
    (object) => object !== undefined && isBeingDeleted(object),
  );
  if (terminating !== undefined) return pending('Terminating', `${nameOf(terminating)} is being deleted`);
  if (router === undefined) return pending('Creating', `L7Router ${pool} is about to be created`);
  if (ingressClass === undefined) return pending('Creating', `IngressClass ${pool} is about to be created`);
  return routerState(router, observed.nodes);
}

function routerState({ metadata, spec, status }: L7Router, nodes: number): DoorState {
  const ready = getCondition(status?.conditions, 'Ready');
  // Until the provisioner has observed the current spec, the condition is about an older one.
  if (ready === undefined || (ready.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    return pending(
      'Progressing',
      `L7Router ${metadata.name} is waiting for the provisioner of ${spec.driver}`,
    );
  }
  // A router is ready with one serving replica. A front door is ready only when all requested replicas are rolled out.
  const rolledOut = getCondition(status?.conditions, 'RolledOut');
  const unmet = [rolledOut, ready].flatMap((each) =>
    each === undefined || each.status === 'True' ? [] : [each],
  );
  const failed = unmet.find(({ reason }) => isFailure(reason));
  if (failed !== undefined) return failure(failed.reason, failed.message);
  const [first] = unmet;
  if (first === undefined) return 'ready';
  return nodes === 0
    ? pending('NoNodes', `pool ${spec.pool} has no nodes`)
    : pending(first.reason, first.message);
}

const nameOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`;

const obstacleText = (object: KubeObject, name: string): string =>
  `${nameOf(object)} exists and is not part of a front door: delete it, or add the label ${YURT_INGRESS_LABEL}=${name}`;
