import type { ObjectMeta } from '@tidegate/kube';
import {
  EDGE_APPLICATION_LABEL,
  type PoolKind,
  SERVICE_TOPOLOGY_ANNOTATION,
  SERVICE_TOPOLOGY_NODE_GROUP,
  TOPOLOGY_KEY_NODE,
  TOPOLOGY_KEY_POOL,
  TOPOLOGY_KEY_ZONE,
  TOPOLOGY_KEYS_ANNOTATION,
} from '../api/index.ts';

/** One restriction: how far clients see, and who asked for it. */
export interface Rule {
  /** The label or annotation of the Service, or `ingress-controller`. */
  readonly asked: string;
  readonly reach: 'node' | 'pool';
  /** A node may be in a pool of each kind; the first kind that the client's node is in counts. */
  readonly kinds: readonly PoolKind[];
}

/** All restrictions hold together; without any, everything is seen. */
export type Scope = readonly Rule[];

const GROUPS_FIRST: readonly PoolKind[] = ['NodeGroup', 'NodePool'];
const POOLS_FIRST: readonly PoolKind[] = ['NodePool', 'NodeGroup'];

/** An ingress controller is the door of its pool, whatever the Services behind it say. */
export const INGRESS_CONTROLLER_RULE: Rule = {
  asked: 'ingress-controller',
  reach: 'pool',
  kinds: POOLS_FIRST,
};

/** What the metadata of a Service asks for, in any of the three dialects. */
export function scopeOf({ labels, annotations }: ObjectMeta): Scope {
  const rules: Rule[] = [];
  if (labels?.[EDGE_APPLICATION_LABEL] !== undefined) {
    rules.push({ asked: EDGE_APPLICATION_LABEL, reach: 'pool', kinds: GROUPS_FIRST });
  }
  if (annotations?.[SERVICE_TOPOLOGY_ANNOTATION] === SERVICE_TOPOLOGY_NODE_GROUP) {
    rules.push({ asked: SERVICE_TOPOLOGY_ANNOTATION, reach: 'pool', kinds: GROUPS_FIRST });
  }
  const reach = reachOfTopologyKeys(annotations?.[TOPOLOGY_KEYS_ANNOTATION]);
  if (reach !== undefined) rules.push({ asked: TOPOLOGY_KEYS_ANNOTATION, reach, kinds: POOLS_FIRST });
  return rules;
}

/** The part of a Service's metadata that decides: all that has to be remembered of it, and most Services have none. */
export function scopeMetadata({ labels, annotations }: ObjectMeta): ObjectMeta {
  return {
    ...part('labels', labels, [EDGE_APPLICATION_LABEL]),
    ...part('annotations', annotations, [SERVICE_TOPOLOGY_ANNOTATION, TOPOLOGY_KEYS_ANNOTATION]),
  };
}

function part(
  field: 'labels' | 'annotations',
  all: Record<string, string> | undefined,
  names: readonly string[],
): ObjectMeta {
  const there = names.flatMap((name) => (all?.[name] === undefined ? [] : [[name, all[name]]]));
  return there.length === 0 ? {} : { [field]: Object.fromEntries(there) };
}

/**
 * OpenYurt knows one key at a time, takes the zone for the pool, and ignores what it does not know. Of a list, as the
 * original topologyKeys had, the widest key counts: a narrower one before it only said what to prefer.
 */
function reachOfTopologyKeys(value: string | undefined): Rule['reach'] | undefined {
  if (value === undefined) return undefined;
  const keys = value.split(',').map((key) => key.trim());
  if (keys.includes('*')) return undefined;
  if (keys.includes(TOPOLOGY_KEY_POOL) || keys.includes(TOPOLOGY_KEY_ZONE)) return 'pool';
  return keys.includes(TOPOLOGY_KEY_NODE) ? 'node' : undefined;
}
