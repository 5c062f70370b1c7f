import type { PatchOverrider } from '../../api/index.ts';
import { applyJsonPatch, PatchError } from './json-patch.ts';
import { OverrideError, type Overrider } from './overrider.ts';

/** Measured: cloning and moving take about as long as one step. */
const BYTES_PER_STEP = 16;
const SHIFTS_PER_STEP = 1000;

/**
 * Applies a JSON Patch to workloads with the kind and name of the target; an absent field matches every workload. A patch
 * cannot turn the object into another one, because objects are tracked by kind, namespace and name.
 */
export const overrideByPatch: Overrider<PatchOverrider> = (object, { target, patch }, _workload, charge) => {
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
    if (stays) return patched;
    return new OverrideError(
      '',
      'a patch cannot change apiVersion, kind, name or namespace: add another manifest to the template',
    );
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    return new OverrideError(error.path, `operation ${error.operation} of the patch: ${error.message}`);
  } finally {
    charge(Math.ceil(cost.copiedBytes / BYTES_PER_STEP + cost.shifts / SHIFTS_PER_STEP));
  }
};
