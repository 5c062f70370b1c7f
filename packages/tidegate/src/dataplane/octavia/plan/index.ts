/**
 * The planner, pure: from the routes of a router to the calls that change a load balancer of Octavia.
 *
 *   1. `wantedOf` translates routes to listeners, policies, pools and certificates (`state.ts`), and reports what
 *      Octavia cannot do (`refusals.ts`).
 *   2. `plan` compares with what exists, and returns the calls in a safe order (`plan.ts`).
 *   3. `applyStep` is the effect of one call, so that the next plan needs no new look at the load balancer.
 */
export { applyStep, backendIn, listenerIn, policyIn } from './apply-step.ts';
export { certificateName, ownCertificateName } from './certificates.ts';
export { plan } from './plan.ts';
export { keyOfTags, rulesOf, tagsOf } from './policy-key.ts';
export {
  EMPTY,
  type HealthMonitor,
  type ListenerCertificates,
  type ListenerName,
  type ListenerSettings,
  type Member,
  NOT_FOUND_BACKEND,
  type Observed,
  type ObservedBackend,
  type ObservedListener,
  type ObservedPolicy,
  type PolicyTarget,
  type Rule,
  type Wanted,
} from './state.ts';
export { type Step, stepText } from './step.ts';
export { type Routes, type WantedOptions, wantedOf } from './wanted.ts';
