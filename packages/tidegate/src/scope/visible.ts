import type { KubeObject } from '@tidegate/kube';
import type { PoolKind } from '../api/index.ts';
import { INGRESS_CONTROLLER_RULE, type Rule, type Scope, scopeOf } from './scope.ts';

/** Who is in which pool. The Membership index answers this. */
export interface PoolLookup {
  poolOf(kind: PoolKind, node: string): string | undefined;
}

export type Reason =
  | 'NotScoped'
  | 'SameNode'
  | 'SamePool'
  | 'OtherNode'
  | 'OtherPool'
  | 'ClientWithoutPool'
  | 'EndpointWithoutNode'
  | 'UnknownService';

export interface Verdict {
  visible: boolean;
  reason: Reason;
  /** The label or annotation that the reason rests on. */
  asked?: string;
}

/** Who looks at which Service. */
export interface View {
  membership: PoolLookup;
  /** Undefined when it could not be looked up. */
  service: KubeObject | undefined;
  clientNode: string;
  /** The client is an ingress controller: in a pool it sees that pool only; outside of all it is the door of none. */
  ingressController?: boolean;
}

export type Judge = (nodeName: string | undefined) => Verdict;

/** May the client see this endpoint, and why? */
export const visible = (view: View & { endpoint: { nodeName?: string } }): Verdict =>
  judgeFor(view)(view.endpoint.nodeName);

/** Nothing restricts the client: there is no need to ask for each endpoint. */
export const seesAll: Judge = () => NOT_SCOPED;

/** The same for many endpoints of one Service: what they share is looked up once. */
export function judgeFor(view: View): Judge {
  if (view.service === undefined) return () => UNKNOWN_SERVICE;
  const judges = scopeFor(view, view.service)
    .filter((rule) => rule !== INGRESS_CONTROLLER_RULE || isInPool(rule, view))
    .map((rule) => judgeBy(rule, view));
  const [first] = judges;
  if (first === undefined) return seesAll;
  return judges.length === 1 ? first : (nodeName) => strictest(judges, nodeName);
}

/** Whether what is seen changes with the pools that nodes are in. */
export const poolsMatter = (view: View): boolean =>
  view.service !== undefined && scopeFor(view, view.service).some(({ reach }) => reach === 'pool');

const NOT_SCOPED: Verdict = { visible: true, reason: 'NotScoped' };
/** Nobody knows whether it is restricted: better to miss an endpoint than to leak one. */
const UNKNOWN_SERVICE: Verdict = { visible: false, reason: 'UnknownService' };

function scopeFor({ ingressController }: View, service: KubeObject): Scope {
  const asked = scopeOf(service.metadata);
  return ingressController === true ? [INGRESS_CONTROLLER_RULE, ...asked] : asked;
}

const isInPool = ({ kinds }: Rule, { membership, clientNode }: View): boolean =>
  kinds.some((kind) => membership.poolOf(kind, clientNode) !== undefined);

function strictest(judges: readonly Judge[], nodeName: string | undefined): Verdict {
  let verdict = NOT_SCOPED;
  for (const judge of judges) {
    verdict = judge(nodeName);
    if (!verdict.visible) break;
  }
  return verdict;
}

function judgeBy(rule: Rule, { membership, clientNode }: View): Judge {
  const because = (isVisible: boolean, reason: Reason): Verdict => ({
    visible: isVisible,
    reason,
    asked: rule.asked,
  });
  const sameNode = because(true, 'SameNode');
  const withoutNode = because(false, 'EndpointWithoutNode');
  const byPool = rule.reach === 'node' ? always(because(false, 'OtherNode')) : judgeByPool();
  return (nodeName) => {
    if (nodeName === undefined || nodeName === '') return withoutNode;
    return nodeName === clientNode ? sameNode : byPool(nodeName);
  };

  function judgeByPool(): (nodeName: string) => Verdict {
    const kind = rule.kinds.find((each) => membership.poolOf(each, clientNode) !== undefined);
    // Two nodes without a pool are not in the same pool.
    if (kind === undefined) return always(because(false, 'ClientWithoutPool'));
    const pool = membership.poolOf(kind, clientNode);
    const samePool = because(true, 'SamePool');
    const otherPool = because(false, 'OtherPool');
    return (nodeName) => (membership.poolOf(kind, nodeName) === pool ? samePool : otherPool);
  }
}

const always = (verdict: Verdict) => (): Verdict => verdict;
