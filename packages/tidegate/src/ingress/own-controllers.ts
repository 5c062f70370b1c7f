import { INGRESS_CONTROLLER_PREFIX } from '../api/index.ts';

/** Names of the first proposal of IngressClasses for load balancers of clouds. */
export const CLOUD_NAMES: readonly string[] = ['kubernetes.io/gce', 'kubernetes.io/aws'];

/** Other values of `spec.controller` that mean routers with nginx. */
export const NGINX_NAMES: readonly string[] = ['kubernetes.io/nginx', ...CLOUD_NAMES];

/** Whether an agent of Tidegate can serve classes of this controller. */
export const isBuiltIn = (controller: string): boolean =>
  NGINX_NAMES.includes(controller) || controller.startsWith(INGRESS_CONTROLLER_PREFIX);
