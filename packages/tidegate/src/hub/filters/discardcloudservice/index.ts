/** Load balancers of the cloud carry nothing at the edge: kube-proxy there need not know of them. */

import { keyOf, type Service } from '@tidegate/kube';
import { DISCARD_SERVICE_ANNOTATION, KUBE_PROXY_USER_AGENT } from '../../../api/index.ts';
import type { Filter } from '../filter.ts';
import { SERVICE } from '../resources.ts';

/** Of OpenYurt's tunnel; only its server in the cloud uses it. */
const CLOUD_SERVICES: ReadonlySet<string> = new Set(['kube-system/x-tunnel-server-internal-svc']);

export const discardCloudService: Filter = {
  name: 'discardcloudservice',
  components: [KUBE_PROXY_USER_AGENT],
  resources: SERVICE,
  apply: (object) => (isForTheCloudOnly(object as Service) ? undefined : object),
};

function isForTheCloudOnly(service: Service): boolean {
  if (CLOUD_SERVICES.has(keyOf(service))) return true;
  return (
    service.spec?.type === 'LoadBalancer' &&
    service.metadata.annotations?.[DISCARD_SERVICE_ANNOTATION] === 'true'
  );
}
