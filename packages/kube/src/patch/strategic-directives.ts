/** The fields of a strategic merge patch that are instructions, not data. */
import { isJsonMap, type JsonMap, setField } from '../base/json.ts';
import { StrategicMergeError } from './strategic-error.ts';

export const PATCH = '$patch';
export const RETAIN_KEYS = '$retainKeys';

/** Directives that appear next to the list they concern: `$setElementOrder/containers`. */
const PARALLEL = { delete: '$deleteFromPrimitiveList', order: '$setElementOrder' } as const;

export const isParallelListDirective = (key: string, directive: keyof typeof PARALLEL): boolean =>
  key.startsWith(PARALLEL[directive]);

/** The name of the list that a parallel directive concerns. */
export function directiveTarget(key: string, directive: keyof typeof PARALLEL): string {
  const prefix = `${PARALLEL[directive]}/`;
  if (!key.startsWith(prefix)) {
    throw new StrategicMergeError({ type: 'invalid directive', directive: PARALLEL[directive] });
  }
  return key.slice(prefix.length);
}

/**
 * The stored form of a value that has nothing to merge with: without nulls and directives. Undefined means that nothing is
 * stored, because the value is itself an instruction to delete.
 */
export function adopt(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(adopt).filter((item) => item !== undefined);
  if (!isJsonMap(value)) return value;
  if (Object.hasOwn(value, PATCH)) return undefined;
  const adopted: JsonMap = {};
  for (const [key, child] of Object.entries(value)) {
    if (child === null || isDirective(key)) continue;
    const kept = adopt(child);
    if (kept !== undefined) setField(adopted, key, kept);
  }
  return adopted;
}

const isDirective = (key: string): boolean =>
  key === RETAIN_KEYS || isParallelListDirective(key, 'delete') || isParallelListDirective(key, 'order');
