import type { Node } from '@tidegate/kube';
import {
  NODE_GROUP_LABEL,
  NODE_POOL_LABEL,
  OPENYURT_WRITTEN_ANNOTATION,
  type Taint,
  WRITTEN_ANNOTATION,
} from '../api/index.ts';
import {
  type Attributes,
  formatRecord,
  recordedAttributes,
  taintKey,
  taintOf,
  taintValues,
} from './attribute-record.ts';

export interface NodePlan {
  /** A merge patch for the node. Undefined if nothing has to change. */
  readonly patch?: Record<string, unknown>;
  /** Attributes that another writer set to a different value. They are not changed. */
  readonly kept: readonly string[];
}

type Values = Readonly<Record<string, string>>;

/** Labels that state the pool of a node. Tidegate owns them, even if another client wrote them last. */
const MEMBERSHIP_LABELS = new Set([NODE_POOL_LABEL, NODE_GROUP_LABEL]);

/** Combines all changes of a node in one patch, so that other clients never see a half-finished move between pools. */
export function planNode(node: Node, desired: Attributes): NodePlan {
  const { labels, annotations } = node.metadata;
  const record = recordedAttributes(node);
  const forLabels = reconcileMap(labels ?? {}, record.labels, desired.labels, MEMBERSHIP_LABELS);
  const forAnnotations = reconcileMap(annotations ?? {}, record.annotations, desired.annotations);
  const forTaints = reconcileMap(taintValues(node.spec?.taints as Taint[]), record.taints, desired.taints);
  const written = formatRecord({
    labels: forLabels.record,
    annotations: forAnnotations.record,
    taints: forTaints.record,
  });
  const bookkeeping: Record<string, string | null> = {
    ...(written !== annotations?.[WRITTEN_ANNOTATION] && { [WRITTEN_ANNOTATION]: written ?? null }),
    ...(annotations?.[OPENYURT_WRITTEN_ANNOTATION] !== undefined && { [OPENYURT_WRITTEN_ANNOTATION]: null }),
  };
  const kept = [
    ...forLabels.kept.map((key) => `label ${key}`),
    ...forAnnotations.kept.map((key) => `annotation ${key}`),
    ...forTaints.kept.map((key) => `taint ${key}`),
  ];
  const metadata = {
    ...(!isEmpty(forLabels.change) && { labels: forLabels.change }),
    ...(!isEmpty({ ...forAnnotations.change, ...bookkeeping }) && {
      annotations: { ...forAnnotations.change, ...bookkeeping },
    }),
  };
  const taints = isEmpty(forTaints.change)
    ? undefined
    : changedTaints(node.spec?.taints as Taint[], forTaints.change);
  if (isEmpty(metadata) && taints === undefined) return { kept };
  // The resource version makes the patch fail if the node changed since: a merge patch replaces the list of taints as
  // a whole, and another client may have taken over a label.
  const { resourceVersion, uid } = node.metadata;
  return {
    patch: { metadata: { ...metadata, resourceVersion, uid }, ...(taints && { spec: { taints } }) },
    kept,
  };
}

interface MapChange {
  /** New values. Null removes a key. */
  change: Record<string, string | null>;
  record: Record<string, string>;
  kept: string[];
}

/**
 * Tidegate owns a key as long as it has the value that Tidegate wrote. Owned keys follow `desired`. Keys of other writers
 * stay unchanged, except those in `alwaysOwned`, which are taken over. That includes keys that already have the desired
 * value but are missing from the record.
 */
function reconcileMap(
  live: Values,
  written: Values,
  desired: Values,
  alwaysOwned: ReadonlySet<string> = NONE,
): MapChange {
  const result: MapChange = { change: {}, record: {}, kept: [] };
  const owns = (key: string): boolean =>
    Object.hasOwn(written, key) && Object.hasOwn(live, key) && written[key] === live[key];
  for (const [key, value] of Object.entries(desired)) {
    if (live[key] === value) {
      if (owns(key) || isAdopted(key, alwaysOwned)) result.record[key] = value;
    } else if (!Object.hasOwn(live, key) || owns(key) || alwaysOwned.has(key)) {
      result.change[key] = value;
      result.record[key] = value;
    } else result.kept.push(key);
  }
  for (const key of Object.keys(written)) {
    if (!Object.hasOwn(desired, key) && owns(key)) result.change[key] = null;
  }
  return result;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Users write the NodePool label to add a node to a pool, so the label stays theirs and is not removed later. Only
 * Tidegate writes the NodeGroup label.
 */
const isAdopted = (key: string, alwaysOwned: ReadonlySet<string>): boolean =>
  alwaysOwned.has(key) && key !== NODE_POOL_LABEL;

function changedTaints(taints: readonly Taint[] | undefined, change: MapChange['change']): Taint[] {
  const others = (taints ?? []).filter((taint) => !Object.hasOwn(change, taintKey(taint)));
  const ours = Object.entries(change).flatMap(([key, value]) =>
    value === null ? [] : [taintOf(key, value)],
  );
  return [...others, ...ours];
}

const isEmpty = (object: object): boolean => Object.keys(object).length === 0;
