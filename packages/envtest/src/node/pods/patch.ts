/** Which part of a pod's status has to be written. Pure. */
import type { Pod } from '@tidegate/kube';
import type { PodStatus } from './status.ts';

/** The strategic merge patch that brings the pod's status to `wanted`; undefined when it is there already. */
export function statusPatch(pod: Pod, wanted: PodStatus): Record<string, unknown> | undefined {
  const { conditions = [], ...fields } = wanted;
  const status: Record<string, unknown> = {};
  const current: Record<string, unknown> = { ...pod.status };
  for (const [name, value] of Object.entries(fields)) {
    if (!covers(current[name], value)) status[name] = value;
  }
  const stale = conditions
    // Absent fields are written as null: merged into the condition of before, they would stay otherwise.
    .map((condition) => ({ reason: null, message: null, ...condition }))
    .filter((condition) => {
      const before = pod.status?.conditions?.find(({ type }) => type === condition.type);
      return before === undefined || !covers(before, condition);
    });
  if (stale.length > 0) status.conditions = stale;
  if (Object.keys(status).length === 0) return undefined;
  // A pod of the same name made since is another one: the server then refuses.
  return { metadata: { uid: pod.metadata.uid }, status };
}

/** Whether everything in `wanted` is in `current`. What servers add by themselves is left alone. */
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
