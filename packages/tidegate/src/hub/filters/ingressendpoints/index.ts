/**
 * Shows an ingress controller in a pool only the endpoints of that pool, whatever scope the Services ask for: the front door
 * of a pool must not send requests to another site.
 */

import type { KubeObject, Metrics } from '@tidegate/kube';
import { INGRESS_CONTROLLER_USER_AGENTS } from '../../../api/index.ts';
import type { EndpointClient } from '../../../scope/index.ts';
import { dependencyOnPools, ScopeFilter } from '../endpoints.ts';
import type { Filter, FilterContext } from '../filter.ts';
import { ENDPOINT } from '../resources.ts';

const NAME = 'ingressendpoints';

/** A Service without a scope. The scope of the real Service is applied by servicetopology. */
const ANY_SERVICE: KubeObject = { apiVersion: 'v1', kind: 'Service', metadata: {} };

export function ingressEndpoints(metrics: Metrics): Filter {
  const scope = new ScopeFilter(NAME, metrics);
  return {
    name: NAME,
    components: INGRESS_CONTROLLER_USER_AGENTS,
    resources: ENDPOINT,
    apply: (object, context) => scope.apply(object, clientOf(context)),
    dependsOn: (object, context) => dependencyOnPools(object, clientOf(context)),
  };
}

const clientOf = ({ membership, nodeName }: FilterContext): EndpointClient => ({
  membership,
  clientNode: nodeName,
  service: ANY_SERVICE,
  ingressController: true,
});
