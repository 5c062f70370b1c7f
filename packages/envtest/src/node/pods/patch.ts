/** Which part of a pod's status has to be written. Pure functions. */
import type { Pod } from '@tidegate/kube';
import type { PodStatus } from './status.ts';

/** The strategic merge patch that changes the pod's status to `wanted`; undefined when nothing differs. */
export function statusPatch(pod: Pod, wanted: PodStatus): Record<string, unknown> | undefined {
  const { conditions = [], ...fields } = wanted;
  const status: Record<string, unknown> = {};
  const current: Record<string, unknown> = { ...pod.status };
  for (const [name, value] of Object.entries(fields)) {
    if (!covers(current[name], value)) status[name] = value;
  }
  const stale = conditions
    // Absent fields are written as null; otherwise they would keep their old values in the merge.
    .map((condition) => ({ reason: null, message: null, ...condition }))
    .filter((condition) => {
      const before = pod.status?.conditions?.find(({ type }) => type === condition.type);
      return before === undefined || !covers(before, condition);
    });
  if (stale.length > 0) status.conditions = stale;
  if (Object.keys(status).length === 0) return undefined;
  // With the uid, the API server rejects the patch if the pod was replaced by another of the same name.
  return { metadata: { uid: pod.metadata.uid }, status };
}

/** Whether `current` contains everything in `wanted`. Fields that the API server has added are ignored. */
export function covers(current: unknown, wanted: unknown): boolean {
  if (wanted === undefined || wanted === null) return current === undefined || current === null;
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(current) &&
      current.length === wanted.length &&
      wanted.every((item, i) => covers(current[i], item))
    );
  }
  if (typeof wanted !== 'object') return current === wanted;
  const entries = Object.entries(wanted);
  if (current === undefined || current === null) return entries.length === 0;
  return entries.every(([name, value]) => covers((current as Record<string, unknown>)[name], value));
}
