/**
 * The planner, pure: from the routes of a router to the state of an Application Load Balancer (ALB) of AWS.
 *
 *   1. `wantedOf` translates routes to listeners, rules, target groups and certificates (`state.ts`), closes the hosts that
 *      an ALB cannot serve as their Ingresses say, with the reason (`refusals.ts`), and stays within all quotas.
 *   2. `rule-key.ts` has the order of rules and their conditions, where an ALB differs from an Ingress: a Prefix takes two
 *      patterns, and a wildcard is followed by any number of labels, so a rule before it answers for those below.
 */
export { conditionsOf, keyOf } from './rule-key.ts';
export { type Conditions, PUBLISHED_QUOTAS, type RuleAction } from './state.ts';
export { type Routes, type WantedOptions, wantedOf } from './wanted.ts';
