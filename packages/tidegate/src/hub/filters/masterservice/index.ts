/**
 * Kubelet writes the address of the Service default/kubernetes into the environment of every container. With the hub's
 * address there, clients that find the API server by their environment talk to the hub, also where no kube-proxy runs.
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
