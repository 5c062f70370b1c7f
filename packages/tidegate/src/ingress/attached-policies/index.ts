/**
 * Policies that are attached to Ingresses, namespaces and classes: the kinds RoutePolicy and ClusterRoutePolicy. Their fields
 * have the meaning of annotations of ingress-nginx (`api/route-policy-sections.ts`), so an Ingress with such a policy is read as if it
 * had the annotations, and everything behind that is the same: routes, provisioners, data planes.
 *
 * A ClusterRoutePolicy of class gold sets `basicAuth`, and an Ingress of the class has the annotation
 * `whitelist-source-range`:
 *   1. `read.ts` reads the policy. What it does not understand closes the hosts of its targets.
 *   2. `policy-index.ts` finds the policies of the Ingress, the outermost first.
 *   3. `settings.ts`: of settings, for example timeouts, the innermost wins.
 *   4. `guards.ts`: guards of all levels apply together. Here, clients need an allowed address and a password.
 * `../status` reports in the status of the policy what has become of it at each of its targets.
 */
export { attachPolicies } from './guards.ts';
export {
  type AttachedKind,
  classScope,
  ingressKeysOf,
  ingressScope,
  namespaceScope,
  type PolicyAt,
  PolicyIndex,
  type Scope,
  scopeOf,
} from './policy-index.ts';
export { type ReadPolicy, readAttachedPolicy } from './read.ts';
export { secretsOfPolicy } from './secrets.ts';
export { inheritSettings, type PolicyOrigin } from './settings.ts';
