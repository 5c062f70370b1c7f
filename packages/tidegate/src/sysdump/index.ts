/**
 * `tidegate sysdump`: what a bug report needs, without secrets. `collect` (collect.ts) reads objects, logs and the report of
 * `tidegate check`. Secrets are never read. Of objects, only the fields leave the cluster that shapes.ts lists for their
 * kind (redact-object.ts); of arguments, only known ones of Tidegate (arguments.ts). Texts have no fields, so redact-text.ts
 * removes what looks like a credential.
 */
export { collect } from './collect.ts';
