/** Validation of pod updates. Only a few fields of a pod can change. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { MAX_INT32 } from '../validation/checks.ts';
import { isEmpty, semanticallyEqual } from '../validation/equal.ts';
import { rangeMessage } from '../validation/names.ts';
import { specDiff } from './diff.ts';
import type { Container, Pod, PodSpec } from './types.ts';

const UPDATABLE = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',');

/** Almost everything in the spec of a pod is immutable. A few fields may change, for example images. */
export function validatePodUpdate({ spec }: Pod, { spec: old }: Pod): FieldError[] {
  for (const list of ['containers', 'initContainers'] as const) {
    if ((spec[list] ?? []).length !== (old[list] ?? []).length) {
      return [fieldError.forbidden(`spec.${list}`, 'pod updates may not add or remove containers')];
    }
  }
  const deadline = validateDeadline(spec.activeDeadlineSeconds, old.activeDeadlineSeconds);
  if (deadline.length > 0 && spec.activeDeadlineSeconds !== undefined) return deadline;
  const errors = [...deadline, ...validateTolerationChange(spec, old), ...validateGateChange(spec, old)];
  const munged = withoutAllowedChanges(spec, old);
  if (semanticallyEqual(munged, old)) return errors;
  const detail = `pod updates may not change fields other than ${UPDATABLE}\n${specDiff(old, munged)}`;
  return [...errors, fieldError.forbidden('spec', detail)];
}

function validateDeadline(deadline: number | undefined, old: number | undefined): FieldError[] {
  const path = 'spec.activeDeadlineSeconds';
  if (deadline === undefined) {
    const detail = 'must not update from a positive integer to nil value';
    return old === undefined ? [] : [fieldError.invalid(path, null, detail)];
  }
  if (deadline < 0 || deadline > MAX_INT32) {
    return [fieldError.invalid(path, deadline, rangeMessage(0, MAX_INT32))];
  }
  return old !== undefined && old < deadline
    ? [fieldError.invalid(path, deadline, 'must be less than or equal to previous value')]
    : [];
}

function validateTolerationChange({ tolerations = [] }: PodSpec, old: PodSpec): FieldError[] {
  const kept = (old.tolerations ?? []).every((before) =>
    tolerations.some((now) =>
      semanticallyEqual({ ...before, tolerationSeconds: now.tolerationSeconds }, now),
    ),
  );
  const detail = 'existing toleration can not be modified except its tolerationSeconds';
  return kept ? [] : [fieldError.forbidden('spec.tolerations', detail)];
}

function validateGateChange({ schedulingGates = [] }: PodSpec, old: PodSpec): FieldError[] {
  const before = new Set((old.schedulingGates ?? []).map((gate) => gate.name));
  return schedulingGates.flatMap(({ name = '' }, i) => {
    if (before.has(name)) return [];
    const detail = `only deletion is allowed, but found new scheduling gate '${name}'`;
    return [fieldError.forbidden(`spec.schedulingGates[${i}].name`, detail)];
  });
}

/** The new spec with the old values of all mutable fields. Any remaining difference is forbidden. */
function withoutAllowedChanges(spec: PodSpec, old: PodSpec): PodSpec {
  const images = (now: Container[] | undefined, before: Container[] | undefined): Container[] | undefined =>
    now?.map((container, i) => ({ ...container, image: before?.[i]?.image }));
  const wasNegative =
    (old.terminationGracePeriodSeconds ?? 0) < 0 && spec.terminationGracePeriodSeconds === 1;
  const gated = !isEmpty(old.schedulingGates);
  return {
    ...spec,
    containers: images(spec.containers, old.containers),
    initContainers: images(spec.initContainers, old.initContainers),
    activeDeadlineSeconds: old.activeDeadlineSeconds,
    schedulingGates: old.schedulingGates,
    tolerations: old.tolerations,
    ...(wasNegative && { terminationGracePeriodSeconds: old.terminationGracePeriodSeconds }),
    // A pod with scheduling gates is not scheduled yet, so its node selector can still change.
    ...(gated && { nodeSelector: old.nodeSelector }),
  };
}
