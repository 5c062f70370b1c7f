/**
 * Hides Services from kube-proxy that are only used in the cloud: Services of type LoadBalancer with the annotation
 * svc.openyurt.io/discard, and the internal Service of OpenYurt's tunnel. Edge nodes then need no rules for them.
 */

import { keyOf, type Service } from '@tidegate/kube';
import { DISCARD_SERVICE_ANNOTATION, KUBE_PROXY_USER_AGENT } from '../../../api/index.ts';
import type { Filter } from '../filter.ts';
import { SERVICE } from '../resources.ts';

/** Belongs to OpenYurt's tunnel. Only the tunnel server in the cloud uses it. */
const CLOUD_SERVICES: ReadonlySet<string> = new Set(['kube-system/x-tunnel-server-internal-svc']);

export const discardCloudService: Filter = {
  name: 'discardcloudservice',
  components: [KUBE_PROXY_USER_AGENT],
  resources: SERVICE,
  apply: (object) => (isCloudOnly(object as Service) ? undefined : object),
};

function isCloudOnly(service: Service): boolean {
  if (CLOUD_SERVICES.has(keyOf(service))) return true;
  return (
    service.spec?.type === 'LoadBalancer' &&
    service.metadata.annotations?.[DISCARD_SERVICE_ANNOTATION] === 'true'
  );
}
