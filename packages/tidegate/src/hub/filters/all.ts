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
 * Every filter there is, in the order in which they are applied. The order is part of what the hub promises: the hub
 * takes the API server's place before scope judges, so that its own endpoint, on this node, is always seen.
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
