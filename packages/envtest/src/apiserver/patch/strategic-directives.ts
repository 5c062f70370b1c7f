/** The fields of a strategic merge patch that are orders, not data. */
import { isJsonMap, type JsonMap, setField } from './json-value.ts';
import { badPatchFormat } from './strategic-errors.ts';

export const PATCH = '$patch';
export const RETAIN_KEYS = '$retainKeys';

/** Directives that stand beside the list they speak of: `$setElementOrder/containers`. */
const PARALLEL = { delete: '$deleteFromPrimitiveList', order: '$setElementOrder' } as const;

export const isParallelListDirective = (key: string, directive: keyof typeof PARALLEL): boolean =>
  key.startsWith(PARALLEL[directive]);

export function directiveTarget(key: string, directive: keyof typeof PARALLEL): string {
  const prefix = `${PARALLEL[directive]}/`;
  if (!key.startsWith(prefix)) {
    throw badPatchFormat(directive === 'delete' ? 'primitive list' : 'setElementOrder list');
  }
  return key.slice(prefix.length);
}

/** A value that has nothing to merge with, as it is stored: no nulls, no directives. undefined: do not store it. */
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
