import type { ObjectMeta } from '@tidegate/kube';
import {
  EDGE_APPLICATION_LABEL,
  type PoolKind,
  SERVICE_TARGETS_ANNOTATION,
  SERVICE_TOPOLOGY_ANNOTATION,
  SERVICE_TOPOLOGY_NODE_GROUP,
  TOPOLOGY_KEY_NODE,
  TOPOLOGY_KEY_POOL,
  TOPOLOGY_KEY_ZONE,
  TOPOLOGY_KEYS_ANNOTATION,
} from '../api/index.ts';
import { parseServiceTargets, type ServiceTargets } from './service-targets.ts';

/** One restriction on what clients of a Service can see. */
export interface ScopeRule {
  /** What restricts the Service: the name of its label or annotation, or `ingress-controller`. */
  readonly source: string;
  /** Clients see endpoints on their own node only, in their own pool only, or in the targets of their node only. */
  readonly boundary: 'node' | 'pool' | 'targets';
  /** A node can be in one pool of each kind. The first kind in this list that contains the client's node is used. */
  readonly kinds: readonly PoolKind[];
  /** For the boundary `targets`. */
  readonly targets?: ServiceTargets;
}

/** An endpoint must satisfy every rule. Without rules, all endpoints are visible. */
export type Scope = readonly ScopeRule[];

const GROUPS_FIRST: readonly PoolKind[] = ['NodeGroup', 'NodePool'];
const POOLS_FIRST: readonly PoolKind[] = ['NodePool', 'NodeGroup'];

/** An ingress controller in a pool serves that pool only, regardless of how the Services behind it are restricted. */
export const INGRESS_CONTROLLER_RULE: ScopeRule = {
  source: 'ingress-controller',
  boundary: 'pool',
  kinds: POOLS_FIRST,
};

/** Reads the restrictions of a Service from its metadata, in any of the three dialects. */
export function scopeOf({ labels, annotations }: ObjectMeta): Scope {
  const rules: ScopeRule[] = [];
  const targets = annotations?.[SERVICE_TARGETS_ANNOTATION];
  if (labels?.[EDGE_APPLICATION_LABEL] !== undefined && targets !== undefined) {
    // The manager wrote what the label and the annotation of KubeEdge can only name. A node can be in a pool of each kind, and
    // in pools that the application does not use.
    rules.push({
      source: SERVICE_TARGETS_ANNOTATION,
      boundary: 'targets',
      kinds: [],
      targets: parseServiceTargets(targets),
    });
    return [...rules, ...rulesOfTopologyKeys(annotations)];
  }
  if (labels?.[EDGE_APPLICATION_LABEL] !== undefined) {
    rules.push({ source: EDGE_APPLICATION_LABEL, boundary: 'pool', kinds: GROUPS_FIRST });
  }
  if (annotations?.[SERVICE_TOPOLOGY_ANNOTATION] === SERVICE_TOPOLOGY_NODE_GROUP) {
    rules.push({ source: SERVICE_TOPOLOGY_ANNOTATION, boundary: 'pool', kinds: GROUPS_FIRST });
  }
  return [...rules, ...rulesOfTopologyKeys(annotations)];
}

function rulesOfTopologyKeys(annotations: Record<string, string> | undefined): Scope {
  const boundary = boundaryOfTopologyKeys(annotations?.[TOPOLOGY_KEYS_ANNOTATION]);
  return boundary === undefined ? [] : [{ source: TOPOLOGY_KEYS_ANNOTATION, boundary, kinds: POOLS_FIRST }];
}

/**
 * The part of a Service's metadata that `scopeOf` reads. The hub keeps only this part in memory; for most Services it
 * is empty.
 */
export function scopeMetadata({ labels, annotations }: ObjectMeta): ObjectMeta {
  return {
    ...pick('labels', labels, [EDGE_APPLICATION_LABEL]),
    ...pick('annotations', annotations, [
      SERVICE_TARGETS_ANNOTATION,
      SERVICE_TOPOLOGY_ANNOTATION,
      TOPOLOGY_KEYS_ANNOTATION,
    ]),
  };
}

function pick(
  field: 'labels' | 'annotations',
  all: Record<string, string> | undefined,
  names: readonly string[],
): ObjectMeta {
  const present = names.flatMap((name) => (Object.hasOwn(all ?? {}, name) ? [[name, all?.[name]]] : []));
  return present.length === 0 ? {} : { [field]: Object.fromEntries(present) };
}

/**
 * OpenYurt accepts a single key, treats the zone as the pool, and ignores unknown keys. In a list, as in the former
 * `topologyKeys` field of Kubernetes Services, a narrower key only stated a preference, so the widest key is used.
 */
function boundaryOfTopologyKeys(value: string | undefined): 'node' | 'pool' | undefined {
  if (value === undefined) return undefined;
  const keys = value.split(',').map((key) => key.trim());
  if (keys.includes('*')) return undefined;
  if (keys.includes(TOPOLOGY_KEY_POOL) || keys.includes(TOPOLOGY_KEY_ZONE)) return 'pool';
  return keys.includes(TOPOLOGY_KEY_NODE) ? 'node' : undefined;
}
