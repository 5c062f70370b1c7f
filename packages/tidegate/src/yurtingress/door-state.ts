import { getCondition, isBeingDeleted, type KubeObject } from '@tidegate/kube';
import { type L7Router, type UnreadyType, YURT_INGRESS_LABEL } from '../api/index.ts';
import { isFailure } from '../ingress/status/index.ts';
import { inTheWay, type Observed, ownerOf } from './observed.ts';

export type DoorState = 'ready' | Unready;

export interface Unready {
  readonly type: UnreadyType;
  readonly reason: string;
  readonly message: string;
}

const pending = (reason: string, message: string): Unready => ({ type: 'Pending', reason, message });
const failure = (reason: string, message: string): Unready => ({ type: 'Failure', reason, message });

/** What is to be told to the YurtIngress of this name about the front door of one of its pools. */
export function doorState(observed: Observed, name: string): DoorState {
  const { pool, exists, router, ingressClass, namespace } = observed;
  const owner = ownerOf(observed)?.metadata.name;
  if (owner !== undefined && owner !== name) {
    return failure(
      'PoolTaken',
      `pool ${pool} has its front door from YurtIngress ${owner}: take the pool out of one of the two`,
    );
  }
  const obstacle = inTheWay(observed);
  if (obstacle !== undefined) return failure('ClassTaken', obstacleText(obstacle, name));
  if (!exists)
    return failure(
      'PoolNotFound',
      `there is no NodePool or NodeGroup ${pool}: make it, or take it out of the spec`,
    );
  const leaving = [namespace, ingressClass, router].find(
    (object) => object !== undefined && isBeingDeleted(object),
  );
  if (leaving !== undefined) return pending('Terminating', `${nameOf(leaving)} is being deleted`);
  if (router === undefined) return pending('Creating', `L7Router ${pool} is about to be made`);
  if (ingressClass === undefined) return pending('Creating', `IngressClass ${pool} is about to be made`);
  return routerState(router, observed.nodes);
}

function routerState({ metadata, spec, status }: L7Router, nodes: number): DoorState {
  const ready = getCondition(status?.conditions, 'Ready');
  // Until then it speaks of something else than what is asked for now.
  if (ready === undefined || (ready.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    return pending('Progressing', `L7Router ${metadata.name} waits for the provisioner of ${spec.driver}`);
  }
  // To be ready a router needs one replica that serves; a front door needs all that were asked for.
  const rolledOut = getCondition(status?.conditions, 'RolledOut');
  const open = [rolledOut, ready].flatMap((each) =>
    each === undefined || each.status === 'True' ? [] : [each],
  );
  const failed = open.find(({ reason }) => isFailure(reason));
  if (failed !== undefined) return failure(failed.reason, failed.message);
  const [first] = open;
  if (first === undefined) return 'ready';
  return nodes === 0
    ? pending('NoNodes', `no node is in pool ${spec.pool}`)
    : pending(first.reason, first.message);
}

const nameOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`;

const obstacleText = (object: KubeObject, name: string): string =>
  `${nameOf(object)} exists already and is no front door: delete it, or hand it over with the label ${YURT_INGRESS_LABEL}=${name}`;
