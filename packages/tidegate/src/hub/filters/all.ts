import type { Logger, Metrics } from '@tidegate/kube';
import { discardCloudService } from './discardcloudservice/index.ts';
import type { Filter } from './filter.ts';
import { forwardKubeSvcTraffic } from './forwardkubesvctraffic/index.ts';
import { inClusterConfig } from './inclusterconfig/index.ts';
import { ingressEndpoints } from './ingressendpoints/index.ts';
import { masterService } from './masterservice/index.ts';
import { nodePortIsolation } from './nodeportisolation/index.ts';
import { serviceEnvUpdater } from './serviceenvupdater/index.ts';
import { serviceTopology } from './servicetopology/index.ts';

/**
 * All filters, in the order in which they are applied. The order is documented in docs/reference/filters.md, and one part
 * of it matters: forwardkubesvctraffic replaces the endpoints of the API server with the hub before servicetopology limits
 * endpoints to a scope. The endpoint of the hub is on this node, so every scope includes it.
 */
export const allFilters = ({ log, metrics }: { log: Logger; metrics: Metrics }): readonly Filter[] => [
  masterService,
  discardCloudService,
  nodePortIsolation,
  forwardKubeSvcTraffic,
  serviceTopology(metrics),
  ingressEndpoints(metrics),
  inClusterConfig(log),
  serviceEnvUpdater,
];
