import type { Node } from '@tidegate/kube';
import {
  AUTONOMY_ANNOTATION,
  AUTONOMY_DURATION_ANNOTATION,
  BINDING_ANNOTATION,
  type NodeGroup,
  type NodePool,
} from '../api/index.ts';

/** How long the pods of a node are kept while its whole site is unreachable. */
export type Autonomy = { mode: 'off' } | { mode: 'on' } | { mode: 'duration'; ms: number };

const OFF: Autonomy = { mode: 'off' };
const ON: Autonomy = { mode: 'on' };

/** The pools of a node. A node can be in one of each kind. */
export interface PoolsOfNode {
  pool?: NodePool | undefined;
  group?: NodeGroup | undefined;
}

/**
 * The autonomy of a node: its own annotations count first, then the field of its NodePool, then that of its NodeGroup, then
 * the type of its NodePool. Values that are not valid are ignored, so that a typing error does not evict pods.
 */
export const autonomyOf = (node: Node | undefined, { pool, group }: PoolsOfNode): Autonomy =>
  ofAnnotations(node?.metadata.annotations ?? {}) ??
  ofField(pool?.spec?.autonomy) ??
  ofField(group?.spec?.autonomy) ??
  (pool?.spec?.type === 'Cloud' ? OFF : ON);

/** Whether the pods of a node are kept that was last heard of at `heardAt`. */
export const isAutonomous = (autonomy: Autonomy, heardAt: number, now: number): boolean =>
  autonomy.mode === 'on' || (autonomy.mode === 'duration' && now < heardAt + autonomy.ms);

/**
 * OpenYurt reads the duration first, and treats a duration of zero or less as no limit. `autonomy` and `binding` are its
 * older annotations. Only the value `false` of `autonomy` turns autonomy off: a missing annotation says nothing.
 */
function ofAnnotations(annotations: Readonly<Record<string, string>>): Autonomy | undefined {
  const ms = durationMs(annotations[AUTONOMY_DURATION_ANNOTATION]);
  if (ms !== undefined) return ms <= 0 ? ON : { mode: 'duration', ms };
  const autonomy = annotations[AUTONOMY_ANNOTATION];
  if (autonomy === 'true' || annotations[BINDING_ANNOTATION] === 'true') return ON;
  return autonomy === 'false' ? OFF : undefined;
}

function ofField(value: string | undefined): Autonomy | undefined {
  if (value === 'Always') return ON;
  if (value === 'Never') return OFF;
  const ms = durationMs(value);
  if (ms === undefined) return undefined;
  return ms <= 0 ? OFF : { mode: 'duration', ms };
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a duration as in Go, for example `90s`, `1h30m` or `-1s`. Undefined if it is not valid. */
function durationMs(text: string | undefined): number | undefined {
  const [, sign, rest = ''] = /^([+-]?)((?:\d+(?:\.\d+)?(?:ms|s|m|h))+|0)$/.exec(text ?? '') ?? [];
  if (sign === undefined) return undefined;
  const parts = [...rest.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  const ms = parts.reduce((sum, [, number, unit = '']) => sum + Number(number) * (UNITS[unit] ?? 0), 0);
  return sign === '-' ? -ms : ms;
}
