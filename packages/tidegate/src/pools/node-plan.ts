import type { Node } from '@tidegate/kube';
import {
  NODE_GROUP_LABEL,
  NODE_POOL_LABEL,
  OPENYURT_WRITTEN_ANNOTATION,
  type Taint,
  WRITTEN_ANNOTATION,
} from '../api/index.ts';
import { type Attributes, formatWritten, taintKey, taintOf, taintValues, writtenOn } from './written.ts';

export interface NodePlan {
  /** A merge patch that makes the node as it shall be; undefined when it is already. */
  readonly patch?: Record<string, unknown>;
  /** What somebody else has put there with another value: it stays. */
  readonly kept: readonly string[];
}

type Values = Readonly<Record<string, string>>;

/** Which pool a node is in is decided here, whoever wrote the label last. */
const DECIDED = new Set([NODE_POOL_LABEL, NODE_GROUP_LABEL]);

/** Everything that pools change on a node, in one patch: a move from pool to pool is never seen half done. */
export function planNode(node: Node, want: Attributes): NodePlan {
  const { labels, annotations } = node.metadata;
  const record = writtenOn(node);
  const forLabels = settle(labels ?? {}, record.labels, want.labels, DECIDED);
  const forAnnotations = settle(annotations ?? {}, record.annotations, want.annotations);
  const forTaints = settle(taintValues(node.spec?.taints as Taint[]), record.taints, want.taints);
  const written = formatWritten({
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
  // What we decided rests on what we saw: taints are replaced as a whole, and a label may have got another owner.
  const { resourceVersion, uid } = node.metadata;
  return {
    patch: { metadata: { ...metadata, resourceVersion, uid }, ...(taints && { spec: { taints } }) },
    kept,
  };
}

interface Settled {
  /** New values; null takes a key away. */
  change: Record<string, string | null>;
  record: Record<string, string>;
  kept: string[];
}

/**
 * We own a key as long as it has the value that we wrote. What we own follows `want`; what others own stays, unless the
 * key is `decided` by us: then it is taken over, also when the value is right already and nobody remembers who wrote it.
 */
function settle(live: Values, written: Values, want: Values, decided: ReadonlySet<string> = NONE): Settled {
  const settled: Settled = { change: {}, record: {}, kept: [] };
  const owns = (key: string): boolean => written[key] !== undefined && written[key] === live[key];
  for (const [key, value] of Object.entries(want)) {
    if (live[key] === value) {
      if (owns(key) || isAdopted(key, decided)) settled.record[key] = value;
    } else if (live[key] === undefined || owns(key) || decided.has(key)) {
      settled.change[key] = value;
      settled.record[key] = value;
    } else settled.kept.push(key);
  }
  for (const key of Object.keys(written)) {
    if (!Object.hasOwn(want, key) && owns(key)) settled.change[key] = null;
  }
  return settled;
}

const NONE: ReadonlySet<string> = new Set();

/** People write the label of a NodePool to join it, and shall find it as they left it. That of a group they do not. */
const isAdopted = (key: string, decided: ReadonlySet<string>): boolean =>
  decided.has(key) && key !== NODE_POOL_LABEL;

function changedTaints(taints: readonly Taint[] | undefined, change: Settled['change']): Taint[] {
  const others = (taints ?? []).filter((taint) => !Object.hasOwn(change, taintKey(taint)));
  const ours = Object.entries(change).flatMap(([key, value]) =>
    value === null ? [] : [taintOf(key, value)],
  );
  return [...others, ...ours];
}

const isEmpty = (object: object): boolean => Object.keys(object).length === 0;
