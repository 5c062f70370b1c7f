/**
 * The compiler: Ingresses of a class, with their Services, EndpointSlices and Secrets, become the tables of the route
 * model and an outcome for each Ingress. It is incremental: a changed object marks the hosts, upstreams and certificates
 * that depend on it as dirty, and the next `flush` computes only those. An invalid object affects only itself.
 *
 * An Ingress changes:
 *   1. `Compiler.put` reads it with its annotations (ingress-facts.ts). It becomes claims on hosts.
 *   2. At the next `flush`, host-owners.ts finds the namespace that owns each of these hosts by its HostClaim, and
 *      host-routes.ts assigns each path to the oldest Ingress of this namespace that wants it.
 *   3. upstream-table.ts resolves upstreams that are newly used, and drops those that are no longer used.
 *   4. certificate-table.ts chooses a certificate for each host, and credential-table.ts reads the users of routes.
 *   5. outcome.ts computes the outcome of the Ingress: hosts that are served, and problems.
 *   6. The differences are returned as a Delta and as changed outcomes.
 * An endpoint changes: `put` marks the upstreams of its Service, and the next `flush` returns them. No host is compiled.
 */
export { classNameOf } from './class-name.ts';
export { isOnlyClosed } from './closed-hosts.ts';
export { Compiler, type Departing, type Flushed, type Inputs } from './compiler.ts';
export type { Explain } from './host-owners.ts';
export { readIngress } from './ingress-facts.ts';
export { type IngressProblem, ingressProblem } from './ingress-problem.ts';
export type { Outcome } from './outcome.ts';
export { policyProblems } from './policy-problems.ts';
export { configMapsOfAnnotations, secretsOfAnnotations } from './users-secret.ts';
