/**
 * `tidegate sysdump`: what a bug report needs, without secrets. `collect` (collect.ts) reads objects, logs and the report of
 * `tidegate check`, and redact.ts removes what must not leave the cluster. Secrets are never read.
 */
export { collect } from './collect.ts';
