/**
 * Limits endpoints to the scope of their Service: to this node, or to the pool of this node. While the Service is not known,
 * its endpoints are removed, because it may have a scope.
 */

import type { KubeObject, Metrics } from '@tidegate/kube';
import { SERVICE_CLIENT_USER_AGENTS } from '../../../api/index.ts';
import type { EndpointClient } from '../../../scope/index.ts';
import { dependencyOnPools, ScopeFilter, serviceOf } from '../endpoints.ts';
import type { Filter, FilterContext } from '../filter.ts';
import { ENDPOINT } from '../resources.ts';

const NAME = 'servicetopology';

export function serviceTopology(metrics: Metrics): Filter {
  const scope = new ScopeFilter(NAME, metrics);
  return {
    name: NAME,
    components: SERVICE_CLIENT_USER_AGENTS,
    resources: ENDPOINT,
    apply: (object, context) => scope.apply(object, clientOf(object, context)),
    dependsOn: (object, context) => [
      ...dependencyOnService(object),
      ...dependencyOnPools(object, clientOf(object, context)),
    ],
  };
}

function clientOf(object: KubeObject, context: FilterContext): EndpointClient {
  const key = serviceOf(object);
  return {
    membership: context.membership,
    clientNode: context.nodeName,
    service: key === undefined ? undefined : context.service(key),
  };
}

function dependencyOnService(object: KubeObject): string[] {
  const key = serviceOf(object);
  return key === undefined ? [] : [`service:${key}`];
}
