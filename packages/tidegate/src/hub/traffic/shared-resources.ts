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
 * What many programs of a node read alike: one watch serves all of them. Secrets, ConfigMaps and pods are not among
 * them, since the node itself may only see its own; Nodes are not, since every heartbeat of the cluster would come in.
 */
export const isShared = (resource: Resource): boolean => SHARED.has(qualifiedName(resource));
