import type { Node } from '@tidegate/kube';
import { OPENYURT_WRITTEN_ANNOTATION, type Taint, WRITTEN_ANNOTATION } from '../api/index.ts';

/** Keys and values that pools put on a node. A taint's key here is `key:effect`: that pair makes it one. */
export interface Attributes {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: Readonly<Record<string, string>>;
}

export const NO_ATTRIBUTES: Attributes = { labels: {}, annotations: {}, taints: {} };

/**
 * What we, or OpenYurt before us, have put on the node. A record that can not be read counts as none: what nobody can
 * prove to be ours stays where it is.
 */
export function writtenOn(node: Node): Attributes {
  const { annotations = {} } = node.metadata;
  const before = parse(annotations[OPENYURT_WRITTEN_ANNOTATION]);
  const ours = parse(annotations[WRITTEN_ANNOTATION]);
  return {
    labels: { ...before.labels, ...ours.labels },
    annotations: { ...before.annotations, ...ours.annotations },
    taints: { ...before.taints, ...ours.taints },
  };
}

/** The text of the record; undefined when there is nothing to remember. */
export function formatWritten({ labels, annotations, taints }: Attributes): string | undefined {
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
    labels: texts(record.labels),
    annotations: texts(record.annotations),
    taints: taintValues(taints),
  };
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {}; // Somebody edited the record: see above.
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isTaint = (value: unknown): value is Taint =>
  isObject(value) && typeof value.key === 'string' && typeof value.effect === 'string';

const texts = (value: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(isObject(value) ? value : {}).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  );

const sorted = (map: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1)));

const isEmpty = (map: object): boolean => Object.keys(map).length === 0;
