/** JSON merge patches, with the answers that kube-apiserver gives to malformed ones. */
import { isJsonMap } from '@tidegate/kube';
import { applyMergePatch as apply } from '@tidegate/kube/patch';
import { badRequest } from '@tidegate/serving';
import { goJsonKind } from './go-format.ts';

export function applyMergePatch<T extends object>(target: T, patch: unknown): T {
  if (patch === null) throw badRequest('Invalid JSON Patch');
  if (!isJsonMap(patch)) {
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${goJsonKind(patch)} into Go value of type map[string]interface {}`,
    );
  }
  return apply(target, patch);
}
