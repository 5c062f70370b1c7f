import {
  INGRESSES,
  type Ingress,
  isNotFound,
  type KubeClient,
  type KubeObject,
  PODS,
  type Pod,
  type Resource,
} from '@tidegate/kube';
import {
  L7_ROUTERS,
  type L7Router,
  NODE_GROUPS,
  NODE_POOLS,
  type NodeGroup,
  type NodePool,
} from '../api/index.ts';

/** The objects that a report is made from, besides nodes. */
export interface SeenObjects {
  pods: Pod[];
  nodePools: NodePool[];
  nodeGroups: NodeGroup[];
  routers: L7Router[];
  ingresses: Ingress[];
}

/** For an API server on a busy machine. One that does not run refuses the connection immediately. */
const ANSWER_MS = 10_000;

/** Undefined when the API server is unreachable. */
export async function readObjects(client: KubeClient): Promise<SeenObjects | undefined> {
  const list = async <T extends KubeObject>(resource: Resource<T>): Promise<T[]> => {
    try {
      return (await client.list(resource, { deadlineMs: ANSWER_MS })).items;
    } catch (error) {
      // The manager has not installed the CRD yet.
      if (isNotFound(error)) return [];
      throw error;
    }
  };
  try {
    const [pods, nodePools, nodeGroups, routers, ingresses] = await Promise.all([
      list(PODS),
      list(NODE_POOLS),
      list(NODE_GROUPS),
      list(L7_ROUTERS),
      list(INGRESSES),
    ]);
    return { pods, nodePools, nodeGroups, routers, ingresses };
  } catch {
    // The report only shows that the API server is unreachable; its log has the reason.
    return undefined;
  }
}
