import { CONVERTED_FIELDS_ANNOTATION } from './names.ts';
import type { NodePool, NodePoolSpec, NodePoolStatus, NodePoolVersion } from './node-pool.ts';
import type { Metadata } from './object.ts';

type SpecField = keyof NodePoolSpec;
type StatusField = keyof NodePoolStatus;

const PUSHED: readonly SpecField[] = ['type', 'labels', 'annotations', 'taints'];
const COUNTED: readonly StatusField[] = ['readyNodeNum', 'unreadyNodeNum', 'nodes'];

/** The fields that each version has. */
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
 * The pool in exactly the shape that clients of `version` know. What has no place there travels in an annotation
 * and comes back when the pool is converted to a version that has one, also after such a client has written it.
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

/** What stands in the fields themselves was written last, and counts. */
function withStashedFields(pool: NodePool): NodePool {
  const { [CONVERTED_FIELDS_ANNOTATION]: stash, ...annotations } = pool.metadata.annotations ?? {};
  if (stash === undefined) return pool;
  const other = JSON.parse(stash) as Pick<NodePool, 'spec' | 'status'>;
  const { annotations: _, ...metadata } = pool.metadata;
  return {
    ...pool,
    metadata: Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations },
    ...(other.spec && { spec: { ...other.spec, ...pool.spec } }),
    ...(other.status && { status: { ...other.status, ...pool.status } }),
  };
}

/** `kept` is as absent or present as `value`; `rest` only when there is any. */
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
