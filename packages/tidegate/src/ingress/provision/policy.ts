/**
 * What the manager may run as a router, and where. An L7Router is created from a YurtIngress or from class parameters, and
 * everything in it is carried out with the permissions of the manager. Without limits, a user that may write one of these
 * could run any image, or take over the address of another Service. The administrator sets the limits with flags of the
 * manager, and not with objects in the cluster. Pure.
 */
import { BlockList, isIP } from 'node:net';
import {
  FRONT_DOOR_NAMESPACE,
  INGRESS_NGINX_NAMESPACE,
  type L7Router,
  ROUTER_NAMESPACE,
} from '../../api/index.ts';
import { isOwnProgram } from '../classes/drivers.ts';
import { workloadOf } from './identity.ts';

export interface RouterPolicy {
  /** Images besides the default image. A pattern can end with `*`, for example `registry.example.com/router:*`. */
  readonly images?: readonly string[];
  /** The default image of ingress-nginx. Without it, no router runs ingress-nginx. */
  readonly ingressNginxImage?: string;
  /** Ranges of external addresses, for example `203.0.113.0/24`. */
  readonly addresses?: readonly string[];
  /** Namespaces besides the usual ones. */
  readonly namespaces?: readonly string[];
}

/** The namespaces in which routers may run. */
export const namespacesOf = (policy: RouterPolicy): readonly string[] => [
  ...ownNamespacesOf(policy),
  ...(policy.ingressNginxImage === undefined ? [] : [INGRESS_NGINX_NAMESPACE]),
];

/** The namespaces in which routers that run `tidegate router` may run. */
const ownNamespacesOf = ({ namespaces = [] }: RouterPolicy): readonly string[] =>
  [...new Set([ROUTER_NAMESPACE, FRONT_DOOR_NAMESPACE, ...namespaces])].filter(
    (namespace) => namespace !== INGRESS_NGINX_NAMESPACE,
  );

/** The image of a router that does not name one. */
export const defaultImageOf = (
  { spec }: L7Router,
  routerImage: string,
  { ingressNginxImage = '' }: RouterPolicy,
): string => (isOwnProgram(spec.driver) ? routerImage : ingressNginxImage);

/** Returns why the router must not be provisioned, or undefined if it may. */
export function refusalOf(router: L7Router, routerImage: string, policy: RouterPolicy): string | undefined {
  const { driver, workload } = router.spec;
  if (workload?.addresses?.length === 0)
    return 'spec.workload.addresses: all addresses of the class are in use by its other routers: add one to its parameter addresses, or raise maxHosts';
  if (workload?.nodePorts !== undefined && Object.keys(workload.nodePorts).length === 0)
    return 'spec.workload.nodePorts: all node ports of the class are in use by its other routers: add one to its parameters httpNodePort and httpsNodePort, or raise maxHosts';
  const { image, namespace, addresses = [] } = workloadOf(router);
  if (!isOwnProgram(driver) && policy.ingressNginxImage === undefined)
    return `spec.driver: ${driver} is not enabled, because it reads all Secrets of the cluster: start the manager with --ingress-nginx-image, and apply deploy/overlays/ingress-nginx`;
  if (!isOwnProgram(driver) && namespace !== INGRESS_NGINX_NAMESPACE)
    return `spec.workload.namespace: routers with ${driver} run in the namespace ${INGRESS_NGINX_NAMESPACE}, not in ${namespace}: remove the field`;
  const allowed = ownNamespacesOf(policy);
  if (isOwnProgram(driver) && !allowed.includes(namespace))
    return `spec.workload.namespace: routers may run in the namespaces ${allowed.join(', ')}, not in ${namespace}: choose one of these, or start the manager with --allow-router-namespace`;
  const fallback = defaultImageOf(router, routerImage, policy);
  if (image !== undefined && image !== fallback && !(policy.images ?? []).some(matches(image)))
    return `spec.workload.image: image ${JSON.stringify(image)} is not allowed: remove it to use ${fallback}, or start the manager with --allow-router-image`;
  const refused = addresses.find((address) => !isAllowed(address, policy.addresses ?? []));
  if (refused !== undefined)
    return `spec.workload.addresses: ${refused} is not in a range that routers may use: remove it, or start the manager with --allow-router-address`;
  return undefined;
}

const matches =
  (image: string) =>
  (pattern: string): boolean =>
    pattern.endsWith('*') ? image.startsWith(pattern.slice(0, -1)) : image === pattern;

function isAllowed(address: string, ranges: readonly string[]): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  const list = new BlockList();
  for (const range of ranges) {
    const [start = '', prefix] = range.split('/');
    if (isIP(start) !== family) continue;
    const type = family === 6 ? 'ipv6' : 'ipv4';
    list.addSubnet(start, Number(prefix ?? (family === 6 ? 128 : 32)), type);
  }
  return list.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
