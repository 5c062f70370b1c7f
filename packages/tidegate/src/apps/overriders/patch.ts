import { isDeepStrictEqual } from 'node:util';
import { type KubeObject, parseApiVersion } from '@tidegate/kube';
import type { PatchOverrider } from '../../api/index.ts';
import { applyJsonPatch, PatchError } from './json-patch.ts';
import { type Charge, OverrideError } from './overrider.ts';

/** Measured: cloning and moving take about as long as one step. */
const BYTES_PER_STEP = 16;
const SHIFTS_PER_STEP = 1000;

/**
 * Applies a JSON Patch to objects with the kind and name of the target; an absent field matches every object. A patch
 * cannot turn the object into another one, because objects are tracked by kind, namespace and name.
 */
export function overrideByPatch(
  object: KubeObject,
  { target, patch }: PatchOverrider,
  charge: Charge,
): KubeObject | OverrideError | undefined {
  if (target?.kind !== undefined && target.kind !== object.kind) return undefined;
  if (target?.name !== undefined && target.name !== object.metadata.name) return undefined;
  const cost = { copiedBytes: 0, shifts: 0 };
  charge(patch.length);
  try {
    const patched = applyJsonPatch(object, patch, cost);
    const stays =
      patched.apiVersion === object.apiVersion &&
      patched.kind === object.kind &&
      patched.metadata?.name === object.metadata.name &&
      patched.metadata.namespace === object.metadata.namespace;
    if (!stays)
      return new OverrideError(
        '',
        'a patch cannot change apiVersion, kind, name or namespace: add another manifest to the template',
      );
    if (grantsPermissions(object) && !isDeepStrictEqual(withoutMetadata(patched), withoutMetadata(object)))
      return new OverrideError(
        '',
        `a patch can change only the metadata of ${object.kind} ${object.metadata.name}, because it grants permissions: add another manifest to the template`,
      );
    return patched;
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    return new OverrideError(error.path, `operation ${error.operation} of the patch: ${error.message}`);
  } finally {
    charge(Math.ceil(cost.copiedBytes / BYTES_PER_STEP + cost.shifts / SHIFTS_PER_STEP));
  }
}

/** Whether the author of an application may grant these permissions is checked for the objects in the template. */
const grantsPermissions = ({ apiVersion }: KubeObject): boolean =>
  parseApiVersion(apiVersion).group === 'rbac.authorization.k8s.io';

const withoutMetadata = ({ metadata: _, ...rest }: KubeObject): Record<string, unknown> => rest;
