import type { KubeObject } from '@tidegate/kube';
import {
  NODE_GROUP_LABEL,
  NODE_POOL_LABEL,
  SERVICE_TARGETS_ANNOTATION,
  SERVICE_TOPOLOGY_ANNOTATION,
  SERVICE_TOPOLOGY_NODE_GROUP,
} from '../../api/index.ts';
import { formatServiceTargets } from '../../scope/index.ts';
import type { Target } from './targets.ts';

export const isService = ({ apiVersion, kind }: KubeObject): boolean =>
  apiVersion === 'v1' && kind === 'Service';

/**
 * Adds the targets to a Service: hubs show its endpoints only to clients in the same target. The annotation of KubeEdge, unless
 * the manifest sets it, is for components of KubeEdge.
 */
export const scoped = (service: KubeObject, targets: readonly Target[]): KubeObject => ({
  ...service,
  metadata: {
    ...service.metadata,
    annotations: {
      [SERVICE_TOPOLOGY_ANNOTATION]: SERVICE_TOPOLOGY_NODE_GROUP,
      ...service.metadata.annotations,
      [SERVICE_TARGETS_ANNOTATION]: formatServiceTargets({
        nodePools: poolsWith(NODE_POOL_LABEL, targets),
        nodeGroups: poolsWith(NODE_GROUP_LABEL, targets),
        nodes: targets.flatMap(({ members }) => (members === undefined ? [] : [members])),
      }),
    },
  },
});

const poolsWith = (label: string, targets: readonly Target[]): string[] =>
  targets.flatMap(({ nodes }) => ('pool' in nodes && nodes.label === label ? [nodes.pool] : []));
