/**
 * Gives the Service default/kubernetes the address of the hub, for the kubelet. The kubelet writes this address into the
 * environment of every container (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT), where clients look for it. They
 * then connect to the hub, even on nodes without kube-proxy.
 */

import type { Service } from '@tidegate/kube';
import { KUBELET_USER_AGENT } from '../../../api/index.ts';
import type { Filter } from '../filter.ts';
import { isKubernetesService, withHubPort } from '../kubernetes-service.ts';
import { SERVICE } from '../resources.ts';

export const masterService: Filter = {
  name: 'masterservice',
  components: [KUBELET_USER_AGENT],
  resources: SERVICE,
  apply(object, context) {
    if (!isKubernetesService(object)) return object;
    const { spec } = object as Service;
    const { host } = context.hub;
    return {
      ...object,
      spec: {
        ...spec,
        clusterIP: host,
        clusterIPs: [host],
        ports: withHubPort(spec?.ports ?? [], context),
      },
    };
  },
};
