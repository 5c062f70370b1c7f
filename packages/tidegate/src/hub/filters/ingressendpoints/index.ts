/** An ingress controller is the door of its pool: it sees the endpoints of the pool only, whatever Services ask for. */

import type { KubeObject, Metrics } from '@tidegate/kube';
import { INGRESS_CONTROLLER_USER_AGENTS } from '../../../api/index.ts';
import type { ClientView } from '../../../scope/index.ts';
import { dependencyOnPools, EndpointSieve } from '../endpoints.ts';
import type { Filter, FilterContext } from '../filter.ts';
import { ENDPOINT } from '../resources.ts';

const NAME = 'ingressendpoints';

/** What the Service itself asks for is the business of servicetopology. */
const ANY_SERVICE: KubeObject = { apiVersion: 'v1', kind: 'Service', metadata: {} };

export function ingressEndpoints(metrics: Metrics): Filter {
  const sieve = new EndpointSieve(NAME, metrics);
  return {
    name: NAME,
    components: INGRESS_CONTROLLER_USER_AGENTS,
    resources: ENDPOINT,
    apply: (object, context) => sieve.pass(object, viewOf(context)),
    dependsOn: (object, context) => dependencyOnPools(object, viewOf(context)),
  };
}

const viewOf = ({ membership, nodeName }: FilterContext): ClientView => ({
  membership,
  clientNode: nodeName,
  service: ANY_SERVICE,
  ingressController: true,
});
