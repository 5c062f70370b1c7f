/**
 * Makes the hub the only endpoint of the Service default/kubernetes for kube-proxy. Pods that connect to the ClusterIP of
 * the Service then reach the hub, without any configuration.
 */
import { isIPv4, isIPv6 } from 'node:net';
import type { EndpointSlice, Endpoints, KubeObject } from '@tidegate/kube';
import { KUBE_PROXY_USER_AGENT } from '../../../api/index.ts';
import { serviceOf } from '../endpoints.ts';
import type { Filter, FilterContext } from '../filter.ts';
import { KUBERNETES_SERVICE, withHubPort } from '../kubernetes-service.ts';
import { ENDPOINT } from '../resources.ts';

export const forwardKubeSvcTraffic: Filter = {
  name: 'forwardkubesvctraffic',
  components: [KUBE_PROXY_USER_AGENT],
  resources: ENDPOINT,
  apply(object, context) {
    if (serviceOf(object) !== KUBERNETES_SERVICE) return object;
    return object.kind === 'Endpoints'
      ? endpointsOfHub(object as Endpoints, context)
      : sliceOfHub(object as EndpointSlice, context);
  },
};

/** The hub has one address. A slice of the other address family stays unchanged, because it cannot contain that address. */
function sliceOfHub(slice: EndpointSlice, context: FilterContext): KubeObject {
  const { hub } = context;
  if (slice.addressType !== familyOf(hub.host)) return slice;
  return {
    ...slice,
    endpoints: [{ addresses: [hub.host], conditions: { ready: true }, ...nodeField(slice, context) }],
    ports: withHubPort(slice.ports ?? [], context),
  };
}

const familyOf = (host: string): string | undefined =>
  isIPv4(host) ? 'IPv4' : isIPv6(host) ? 'IPv6' : undefined;

/** In v1beta1, the node of an endpoint is in `topology`. */
const nodeField = ({ apiVersion }: KubeObject, { nodeName }: FilterContext): object =>
  apiVersion === 'discovery.k8s.io/v1beta1'
    ? { topology: { 'kubernetes.io/hostname': nodeName } }
    : { nodeName };

/** An object without addresses stays unchanged: without the API server's endpoint there is nothing to replace. */
function endpointsOfHub(object: Endpoints, context: FilterContext): KubeObject {
  const { hub, nodeName } = context;
  const [subset] = object.subsets ?? [];
  const [first] = [...(subset?.addresses ?? []), ...(subset?.notReadyAddresses ?? [])];
  if (first === undefined || familyOf(first.ip) !== familyOf(hub.host)) return object;
  const ports = withHubPort(subset?.ports ?? [], context);
  return { ...object, subsets: [{ addresses: [{ ip: hub.host, nodeName }], ports }] };
}
