import { isJsonMap, type Node } from '@tidegate/kube';
import { OPENYURT_WRITTEN_ANNOTATION, type Taint, WRITTEN_ANNOTATION } from '../api/index.ts';

/** Keys and values that pools set on a node. Taints are keyed by `key:effect`, which identifies them. */
export interface Attributes {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: Readonly<Record<string, string>>;
}

export const NO_ATTRIBUTES: Attributes = { labels: {}, annotations: {}, taints: {} };

/**
 * Reads from the annotations of a node what Tidegate, or OpenYurt before it, set there. An invalid record is treated as
 * empty: attributes that are not known to be ours are never removed.
 */
export function recordedAttributes(node: Node): Attributes {
  const { annotations = {} } = node.metadata;
  const before = parse(annotations[OPENYURT_WRITTEN_ANNOTATION]);
  const ours = parse(annotations[WRITTEN_ANNOTATION]);
  return {
    labels: { ...before.labels, ...ours.labels },
    annotations: { ...before.annotations, ...ours.annotations },
    taints: { ...before.taints, ...ours.taints },
  };
}

/** The value of the annotation. Undefined if there is nothing to record. */
export function formatRecord({ labels, annotations, taints }: Attributes): string | undefined {
  const record = {
    ...(!isEmpty(labels) && { labels: sorted(labels) }),
    ...(!isEmpty(annotations) && { annotations: sorted(annotations) }),
    ...(!isEmpty(taints) && {
      taints: Object.entries(sorted(taints)).map(([key, value]) => taintOf(key, value)),
    }),
  };
  return isEmpty(record) ? undefined : JSON.stringify(record);
}

export const taintKey = ({ key, effect }: Taint): string => `${key}:${effect}`;

export function taintOf(keyAndEffect: string, value: string): Taint {
  const colon = keyAndEffect.lastIndexOf(':');
  const [key, effect] = [keyAndEffect.slice(0, colon), keyAndEffect.slice(colon + 1)];
  return value === '' ? { key, effect } : { key, value, effect };
}

export const taintValues = (taints: readonly Taint[] | undefined): Record<string, string> =>
  Object.fromEntries((taints ?? []).map((taint) => [taintKey(taint), taint.value ?? '']));

function parse(text: string | undefined): Attributes {
  if (text === undefined) return NO_ATTRIBUTES;
  const record = parseObject(text);
  const taints = Array.isArray(record.taints) ? record.taints.filter(isTaint) : [];
  return {
    labels: stringEntries(record.labels),
    annotations: stringEntries(record.annotations),
    taints: taintValues(taints),
  };
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonMap(value) ? value : {};
  } catch {
    return {}; // An edited record that is not valid JSON is treated as empty.
  }
}

const isTaint = (value: unknown): value is Taint =>
  isJsonMap(value) && typeof value.key === 'string' && typeof value.effect === 'string';

const stringEntries = (value: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(isJsonMap(value) ? value : {}).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  );

const sorted = (map: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1)));

const isEmpty = (map: object): boolean => Object.keys(map).length === 0;
