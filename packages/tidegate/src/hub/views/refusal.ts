import { isNotFound, isUnauthorized } from '@tidegate/kube';
import type { ViewKey } from './view.ts';
import { isVital, SHARED } from './view-key.ts';

/**
 * Whether the hub deletes its copy of a view after the API server refused it with 401, 403 or 404. `times` counts
 * consecutive refusals, including this one.
 *
 * A revoked permission must not live on in a copy. But an API server that has just started may refuse what it grants a
 * moment later, because its caches of roles, custom resources or the pods of a node are not filled yet. Views that the
 * whole node depends on are not deleted for that.
 */
export function discardsCopy(key: ViewKey, refusal: unknown, times: number): boolean {
  if (isVital(key)) return false;
  if (key.identity === SHARED) return isNotFound(refusal) && times > 1;
  // A client of a service account whose token expired reconnects with a new token and the same identity. An identity that
  // is the hash of a token ends with the token.
  if (isUnauthorized(refusal)) return key.identity.startsWith('token:');
  return true;
}
