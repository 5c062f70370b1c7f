/**
 * Objects in, routes out: Ingresses of a class with their Services, EndpointSlices and Secrets become the tables of the
 * route model, and what there is to tell about each Ingress, in one pass. Incremental: an object changes what it is in,
 * and nothing else is looked at. One bad object hurts itself only.
 *
 * One Ingress: `Compiler.put` -> ingress-facts.ts reads it, with its annotations, into claims on hosts -> at the next
 * `flush` host-routes.ts divides each of those hosts among all who claim it, the oldest first -> upstream-table.ts looks up
 * the upstreams that are used now -> certificate-table.ts chooses what to show for the hosts -> outcome.ts says what came of
 * the Ingress -> the differences leave as a Delta and as outcomes.
 * One endpoint: `put` -> the upstreams of its Service, at the next `flush` -> the Delta. No host is touched.
 */
export { classNameOf } from './class-name.ts';
export { Compiler, type Inputs } from './compiler.ts';
export { readIngress } from './ingress-facts.ts';
export type { IngressProblem } from './ingress-problem.ts';
export type { Outcome } from './outcome.ts';
