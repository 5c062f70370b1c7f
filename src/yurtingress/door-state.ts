import { type L7Router, type UnreadyType, YURT_INGRESS_LABEL } from '../api/index.ts';
import { getCondition, isBeingDeleted, type KubeObject } from '../kube/index.ts';
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
    return failure('PoolNotFound', `there is no NodePool ${pool}: make it, or take it out of the spec`);
  const leaving = [namespace, ingressClass, router].find(
    (object) => object !== undefined && isBeingDeleted(object),
  );
  if (leaving !== undefined) return pending('Terminating', `${nameOf(leaving)} is being deleted`);
  if (router === undefined) return pending('Creating', `L7Router ${pool} is about to be made`);
  if (ingressClass === undefined) return pending('Creating', `IngressClass ${pool} is about to be made`);
  return routerState(router, observed.nodes);
}

function routerState(router: L7Router, nodes: number): DoorState {
  const { metadata, spec, status } = router;
  const ready = getCondition(status?.conditions, 'Ready');
  // Until then it speaks of something else than what is asked for now.
  if (ready === undefined || (ready.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    return pending('Progressing', `L7Router ${metadata.name} waits for the provisioner of ${spec.driver}`);
  }
  if (ready.status === 'True') return 'ready';
  if (nodes === 0) return pending('NoNodes', `no node is in pool ${spec.pool}`);
  const { reason, message } = ready;
  return FAILURES.has(reason) ? failure(reason, message) : pending(reason, message);
}

/** Reasons of a router that do not pass by themselves. */
const FAILURES: ReadonlySet<string> = new Set([]);

const nameOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`;

const obstacleText = (object: KubeObject, name: string): string =>
  `${nameOf(object)} exists already and is no front door: delete it, or hand it over with the label ${YURT_INGRESS_LABEL}=${name}`;
