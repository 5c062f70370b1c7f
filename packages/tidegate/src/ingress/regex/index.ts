/**
 * Regular expressions that take linear time. ingress-nginx runs paths as expressions of PCRE, which can take exponential
 * time: a tenant could block a router with one path. Here an expression is compiled once, by the control plane, into a short
 * program (`program.ts`), which is data of the route model. A data plane runs it on all alternatives at the same time
 * (`run.ts`, and `pattern.lua` for nginx), so the time for a request is at most the length of the path multiplied by the
 * length of the program, and both are limited.
 *
 * `/api/(v[12])/?` becomes: compare `/api/`, note the start of group 1, compare `v` and one of `12`, note the end of the
 * group, and continue with or without a slash. What cannot be compiled like this, for example a back-reference, is refused
 * by `syntax.ts` with its position.
 */
export { compilePattern } from './compile.ts';
export { needsOneOf } from './needs.ts';
export type { Pattern } from './program.ts';
export { groupOf, runPattern } from './run.ts';
export { MAX_STEPS, OutOfSteps, type Steps } from './steps.ts';
export { PatternError } from './syntax-error.ts';
