import {
  ENDPOINT_SLICES,
  ENDPOINTS,
  INGRESS_CLASSES,
  INGRESSES,
  qualifiedName,
  type Resource,
  SERVICES,
} from '@tidegate/kube';
import { NODE_GROUPS, NODE_POOLS } from '../../api/index.ts';

const SHARED = new Set(
  [SERVICES, ENDPOINTS, ENDPOINT_SLICES, INGRESSES, INGRESS_CLASSES, NODE_POOLS, NODE_GROUPS].map(
    qualifiedName,
  ),
);

/**
 * Whether one watch upstream serves all clients of the node. Secrets, ConfigMaps and Pods are not shared, because the
 * node itself may read only those of its own pods. Nodes are not shared either, because the watch would deliver the
 * heartbeats of the whole cluster.
 */
export const isShared = (resource: Resource): boolean => SHARED.has(qualifiedName(resource));
