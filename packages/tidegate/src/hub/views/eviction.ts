import type { ViewKey } from './view.ts';
import { isSingle, isVital } from './view-key.ts';

export interface ViewLimits {
  /** Of one view that is not shared; a larger one is not kept. */
  viewBytes: number;
  /** Of all that nobody uses, together. */
  idleBytes: number;
  lists: number;
  /** Views of one object: what GETs have shown. */
  singles: number;
}

export const DEFAULT_LIMITS: ViewLimits = {
  viewBytes: 32 << 20,
  idleBytes: 256 << 20,
  lists: 500,
  singles: 2_000,
};

interface Candidate {
  readonly key: ViewKey;
  readonly isIdle: boolean;
  readonly usedAt: number;
  readonly progress: { readonly bytes: number } | undefined;
}

/**
 * What has to go, that which was not used for the longest time first. What the node runs on stays; of its single
 * objects the oldest go when they alone are too many, for they are left over from pods that are gone.
 */
export function victims<C extends Candidate>(views: Iterable<C>, limits: ViewLimits): C[] {
  const all = [...views];
  const idle = all.filter((view) => view.isIdle).sort((a, b) => a.usedAt - b.usedAt);
  const singles = idle.filter(({ key }) => isSingle(key));
  const expendable = [
    ...singles.filter(({ key }) => !isVital(key)),
    ...singles.filter(({ key }) => isVital(key)),
  ];
  const lists = idle.filter(({ key }) => !isSingle(key) && !isVital(key));
  const count = all.filter(({ key }) => isSingle(key)).length;
  const tooMany = [
    ...expendable.slice(0, Math.max(0, count - limits.singles)),
    ...lists.slice(0, Math.max(0, all.length - count - limits.lists)),
  ];
  return [...tooMany, ...tooHeavy(idle, new Set(tooMany), limits.idleBytes)];
}

function tooHeavy<C extends Candidate>(idle: C[], gone: ReadonlySet<C>, mostBytes: number): C[] {
  const left = idle.filter((view) => !gone.has(view) && !isVital(view.key));
  let bytes = left.reduce((sum, { progress }) => sum + (progress?.bytes ?? 0), 0);
  return left.filter(({ progress }) => {
    if (bytes <= mostBytes) return false;
    bytes -= progress?.bytes ?? 0;
    return true;
  });
}
