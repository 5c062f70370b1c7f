import { CONVERTED_FIELDS_ANNOTATION } from './names.ts';
import type { NodePool, NodePoolSpec, NodePoolStatus, NodePoolVersion } from './node-pool.ts';
import type { Metadata } from './object.ts';

type SpecField = keyof NodePoolSpec;
type StatusField = keyof NodePoolStatus;

const PUSHED: readonly SpecField[] = ['type', 'labels', 'annotations', 'taints', 'autonomy'];
const COUNTED: readonly StatusField[] = ['readyNodeNum', 'unreadyNodeNum', 'nodes'];

/** The spec fields of each version. */
const FIELDS: Record<NodePoolVersion, { spec: readonly SpecField[]; status: readonly StatusField[] }> = {
  v1alpha1: { spec: [...PUSHED, 'selector'], status: COUNTED },
  v1beta1: { spec: [...PUSHED, 'hostNetwork'], status: COUNTED },
  v1beta2: {
    spec: [
      ...PUSHED,
      'hostNetwork',
      'interConnectivity',
      'leaderElectionStrategy',
      'leaderNodeLabelSelector',
      'enableLeaderElection',
      'poolScopeMetadata',
      'leaderReplicas',
    ],
    status: [...COUNTED, 'leaderEndpoints', 'leaderNum', 'leaderLastElectedTime', 'conditions'],
  },
};

/**
 * Converts a pool to exactly the fields that clients of `version` know. Other fields are kept in an annotation, and are
 * restored by a conversion to a version that has them, even if a client of `version` updated the pool in between.
 */
export function convertNodePool(pool: NodePool, version: NodePoolVersion): NodePool {
  const whole = withStashedFields(pool);
  const fields = FIELDS[version];
  const spec = split(whole.spec, fields.spec);
  const status = split(whole.status, fields.status);
  const other = { ...(spec.rest && { spec: spec.rest }), ...(status.rest && { status: status.rest }) };
  const stash = Object.keys(other).length === 0 ? undefined : JSON.stringify(other);
  return {
    ...whole,
    apiVersion: `apps.openyurt.io/${version}`,
    metadata: stash === undefined ? whole.metadata : withStash(whole.metadata, stash),
    ...(spec.kept && { spec: spec.kept }),
    ...(status.kept && { status: status.kept }),
  };
}

const withStash = (metadata: Metadata, stash: string): Metadata => ({
  ...metadata,
  annotations: { ...metadata.annotations, [CONVERTED_FIELDS_ANNOTATION]: stash },
});

/**
 * The pool with all its fields, also those that a conversion has put into the annotation. Controllers read pools this way: a
 * pool with a selector must not lose its nodes because its manifest was converted. A damaged annotation is ignored.
 */
export function wholeNodePool(pool: NodePool): NodePool {
  try {
    return withStashedFields(pool);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return pool;
  }
}

/** Fields of the object take precedence over the annotation, because they were written later. */
function withStashedFields(pool: NodePool): NodePool {
  const { [CONVERTED_FIELDS_ANNOTATION]: stash, ...annotations } = pool.metadata.annotations ?? {};
  if (stash === undefined) return pool;
  const parsed: unknown = JSON.parse(stash);
  if (typeof parsed !== 'object' || parsed === null)
    throw new SyntaxError('the annotation must contain an object');
  const other = parsed as Pick<NodePool, 'spec' | 'status'>;
  const { annotations: _, ...metadata } = pool.metadata;
  return {
    ...pool,
    metadata: Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations },
    ...(other.spec && { spec: { ...other.spec, ...pool.spec } }),
    ...(other.status && { status: { ...other.status, ...pool.status } }),
  };
}

/** Splits the value by field. `kept` is absent if `value` is; `rest` is absent if it would be empty. */
function split<T extends object>(
  value: T | undefined,
  names: readonly (keyof T)[],
): { kept?: Partial<T>; rest?: Partial<T> } {
  if (value === undefined) return {};
  const kept: Partial<T> = {};
  const rest: Partial<T> = {};
  for (const name of Object.keys(value) as (keyof T)[]) {
    (names.includes(name) ? kept : rest)[name] = value[name];
  }
  return Object.keys(rest).length === 0 ? { kept } : { kept, rest };
}
