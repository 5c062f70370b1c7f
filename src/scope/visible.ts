import type { PoolKind } from '../api/index.ts';
import type { KubeObject } from '../kube/index.ts';
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
  /** The client is an ingress controller: it sees its pool only, always. */
  ingressController?: boolean;
}

/** May the client see this endpoint, and why? */
export const visible = (view: View & { endpoint: { nodeName?: string } }): Verdict =>
  judgeFor(view)(view.endpoint.nodeName);

/** The same for many endpoints of one Service: what they share is looked up once. */
export function judgeFor(view: View): (nodeName: string | undefined) => Verdict {
  if (view.service === undefined) return () => UNKNOWN_SERVICE;
  const asked = scopeOf(view.service.metadata);
  const scope = view.ingressController === true ? [INGRESS_CONTROLLER_RULE, ...asked] : asked;
  return (nodeName) => verdictOf(scope, view, nodeName);
}

const NOT_SCOPED: Verdict = { visible: true, reason: 'NotScoped' };
/** Nobody knows whether it is restricted: better to miss an endpoint than to leak one. */
const UNKNOWN_SERVICE: Verdict = { visible: false, reason: 'UnknownService' };

function verdictOf(scope: Scope, view: View, nodeName: string | undefined): Verdict {
  let verdict = NOT_SCOPED;
  for (const rule of scope) {
    verdict = apply(rule, view, nodeName);
    if (!verdict.visible) break;
  }
  return verdict;
}

function apply(rule: Rule, { membership, clientNode }: View, nodeName: string | undefined): Verdict {
  const because = (isVisible: boolean, reason: Reason): Verdict => ({
    visible: isVisible,
    reason,
    asked: rule.asked,
  });
  if (nodeName === undefined || nodeName === '') return because(false, 'EndpointWithoutNode');
  if (nodeName === clientNode) return because(true, 'SameNode');
  if (rule.reach === 'node') return because(false, 'OtherNode');
  for (const kind of rule.kinds) {
    const pool = membership.poolOf(kind, clientNode);
    if (pool === undefined) continue;
    return membership.poolOf(kind, nodeName) === pool
      ? because(true, 'SamePool')
      : because(false, 'OtherPool');
  }
  // Two nodes without a pool are not in the same pool.
  return because(false, 'ClientWithoutPool');
}
