import type { KubeObject } from '@tidegate/kube';
import type { PoolKind } from '../api/index.ts';
import { INGRESS_CONTROLLER_RULE, type Scope, type ScopeRule, scopeOf } from './scope.ts';
import { sharesTarget } from './service-targets.ts';

/** Looks up the pool of a node. The Membership index of `pools/` implements it. */
export interface PoolLookup {
  poolOf(kind: PoolKind, node: string): string | undefined;
}

/** Why an endpoint is visible or not. Also a label value of the hub's metrics. */
export type VisibilityReason =
  | 'NotScoped'
  | 'SameNode'
  | 'SamePool'
  | 'SameTarget'
  | 'OtherNode'
  | 'OtherPool'
  | 'OtherTarget'
  | 'ClientWithoutPool'
  | 'ClientWithoutTarget'
  | 'EndpointWithoutNode'
  | 'UnknownService';

export interface EndpointVisibility {
  visible: boolean;
  reason: VisibilityReason;
  /** The label or annotation of the Service that the decision is based on, or `ingress-controller`. */
  source?: string;
}

/** One client that looks at the endpoints of one Service. */
export interface EndpointClient {
  membership: PoolLookup;
  /** Undefined if the Service could not be looked up. */
  service: KubeObject | undefined;
  clientNode: string;
  /**
   * The client is an ingress controller. In a pool it sees the endpoints of that pool only. Outside every pool it is
   * treated like any other client.
   */
  ingressController?: boolean;
}

/** Decides about one endpoint by the name of its node. */
export type EndpointCheck = (nodeName: string | undefined) => EndpointVisibility;

/** Returns whether the client may see this endpoint, and why. */
export const visible = (client: EndpointClient & { endpoint: { nodeName?: string } }): EndpointVisibility =>
  endpointCheck(client)(client.endpoint.nodeName);

/** The check of an unrestricted client. Callers compare with it to skip the pass over all endpoints. */
export const allVisible: EndpointCheck = () => NOT_SCOPED;

/** Prepares the check for all endpoints of one Service, so that what they share is looked up once. */
export function endpointCheck(client: EndpointClient): EndpointCheck {
  if (client.service === undefined) return () => UNKNOWN_SERVICE;
  const checks = scopeFor(client, client.service)
    .filter((rule) => rule !== INGRESS_CONTROLLER_RULE || isInPool(rule, client))
    .map((rule) => checkFor(rule, client));
  const [first] = checks;
  if (first === undefined) return allVisible;
  return checks.length === 1 ? first : (nodeName) => strictest(checks, nodeName);
}

/** Whether the result depends on pool membership, so that it must be computed again when a node changes its pool. */
export const dependsOnPools = (client: EndpointClient): boolean =>
  client.service !== undefined &&
  scopeFor(client, client.service).some(({ boundary }) => boundary !== 'node');

const NOT_SCOPED: EndpointVisibility = { visible: true, reason: 'NotScoped' };
/** An unknown Service may be restricted. Withholding an endpoint for a while is better than leaking it. */
const UNKNOWN_SERVICE: EndpointVisibility = { visible: false, reason: 'UnknownService' };

function scopeFor({ ingressController }: EndpointClient, service: KubeObject): Scope {
  const scope = scopeOf(service.metadata);
  return ingressController === true ? [INGRESS_CONTROLLER_RULE, ...scope] : scope;
}

const isInPool = ({ kinds }: ScopeRule, { membership, clientNode }: EndpointClient): boolean =>
  kinds.some((kind) => membership.poolOf(kind, clientNode) !== undefined);

/** The first result that hides the endpoint, or else the result of the last check. */
function strictest(checks: readonly EndpointCheck[], nodeName: string | undefined): EndpointVisibility {
  let visibility = NOT_SCOPED;
  for (const check of checks) {
    visibility = check(nodeName);
    if (!visibility.visible) break;
  }
  return visibility;
}

/** Results are created once per client, not once per endpoint: a large Service has thousands of endpoints. */
function checkFor(rule: ScopeRule, { membership, clientNode }: EndpointClient): EndpointCheck {
  const result = (isVisible: boolean, reason: VisibilityReason): EndpointVisibility => ({
    visible: isVisible,
    reason,
    source: rule.source,
  });
  const checks = { node: () => always(result(false, 'OtherNode')), pool: checkPool, targets: checkTargets };
  const sameNode = result(true, 'SameNode');
  const withoutNode = result(false, 'EndpointWithoutNode');
  const otherNode = checks[rule.boundary]();
  return (nodeName) => {
    if (nodeName === undefined || nodeName === '') return withoutNode;
    return nodeName === clientNode ? sameNode : otherNode(nodeName);
  };

  function checkPool(): (nodeName: string) => EndpointVisibility {
    const kind = rule.kinds.find((each) => membership.poolOf(each, clientNode) !== undefined);
    // Two nodes without a pool are not in the same pool.
    if (kind === undefined) return always(result(false, 'ClientWithoutPool'));
    const pool = membership.poolOf(kind, clientNode);
    const samePool = result(true, 'SamePool');
    const otherPool = result(false, 'OtherPool');
    return (nodeName) => (membership.poolOf(kind, nodeName) === pool ? samePool : otherPool);
  }

  function checkTargets(): (nodeName: string) => EndpointVisibility {
    const shares = sharesTarget(rule.targets ?? {}, clientNode, (kind, node) =>
      membership.poolOf(kind, node),
    );
    if (shares === undefined) return always(result(false, 'ClientWithoutTarget'));
    const sameTarget = result(true, 'SameTarget');
    const otherTarget = result(false, 'OtherTarget');
    return (nodeName) => (shares(nodeName) ? sameTarget : otherTarget);
  }
}

const always = (visibility: EndpointVisibility) => (): EndpointVisibility => visibility;
