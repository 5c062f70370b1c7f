import { isNotFound, isUnauthorized } from '@tidegate/kube';
import type { ViewKey } from './view.ts';
import { isVital, SHARED } from './view-key.ts';

/**
 * Whether what is stored of a view goes when the API server refuses it. `times` counts refusals in a row, this one
 * included.
 *
 * A right that was taken away must not live on in a copy. But an API server that has just started may refuse what it
 * will grant a moment later (its view of roles, of custom resources or of a node's pods is not there yet), and what
 * the whole node works from must not go for that.
 */
export function losesCopy(key: ViewKey, refusal: unknown, times: number): boolean {
  if (isVital(key)) return false;
  if (key.identity === SHARED) return isNotFound(refusal) && times > 1;
  // A token may merely have expired; its owner comes back with another one. A token that is its own identity can not.
  if (isUnauthorized(refusal)) return key.identity.startsWith('token:');
  return true;
}
