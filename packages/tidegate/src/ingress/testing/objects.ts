/** Short constructors of Kubernetes objects for tests. */
import type {
  ConfigMap,
  EndpointSlice,
  Ingress,
  IngressClass,
  KubeObject,
  Secret,
  Service,
} from '@tidegate/kube';
import type { AttachedPolicy, HostClaim } from '../../api/index.ts';
import { newHostClaim } from '../ownership/index.ts';

export const CLASS = 'gold';

export interface IngressFields {
  name?: string;
  namespace?: string;
  /** Age in seconds. */
  age?: number;
  annotations?: Record<string, string>;
  className?: string | undefined;
  /** From `host/path`, or `=host/path` for Exact, to `service:port`. */
  rules?: Record<string, string>;
  defaultBackend?: string;
  tls?: { hosts?: string[]; secretName?: string }[];
}

/** A recorded claim. `since` is a number of seconds before the newest Ingress. */
export const hostClaim = (
  host: string,
  namespace: string,
  { className = CLASS, since = 0 }: { className?: string; since?: number } = {},
): HostClaim =>
  newHostClaim({
    ingressClassName: className,
    host,
    namespace,
    since: new Date(NEWEST - since * 1000).toISOString(),
  });

const NEWEST = Date.parse('2026-01-01T00:00:00Z');

export function ingress({
  name = 'web',
  namespace = 'shop',
  age = 0,
  annotations,
  className = CLASS,
  rules = {},
  defaultBackend,
  tls,
}: IngressFields = {}): Ingress {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {
      name,
      namespace,
      creationTimestamp: new Date(NEWEST - age * 1000).toISOString(),
      ...(annotations && { annotations }),
    },
    spec: {
      ingressClassName: className,
      ...(defaultBackend !== undefined && { defaultBackend: backend(defaultBackend) }),
      rules: Object.entries(rules).map(([where, target]) => rule(where, target)),
      ...(tls && { tls }),
    },
  };
}

function rule(where: string, target: string) {
  const exact = where.startsWith('=');
  const [, host = '', path] = /^=?([^/]*)(.*)$/.exec(where) ?? [];
  return {
    ...(host !== '' && { host }),
    http: { paths: [{ path, pathType: exact ? 'Exact' : 'Prefix', backend: backend(target) }] },
  };
}

function backend(target: string) {
  const [name = '', port = ''] = target.split(':');
  return { service: { name, port: /^\d+$/.test(port) ? { number: Number(port) } : { name: port } } };
}

/** Ports are written as `name:port`, or `:port` for a port without a name. */
export const service = (
  name: string,
  ports: readonly string[] = ['http:80'],
  namespace = 'shop',
): Service => ({
  ...metadata('v1', 'Service', name, namespace),
  spec: {
    ports: ports.map((each) => {
      const [portName, port] = each.split(':');
      return { ...(portName !== '' && { name: portName }), port: Number(port), protocol: 'TCP' };
    }),
  },
});

type Conditions = { ready?: boolean; serving?: boolean; terminating?: boolean };

/** An EndpointSlice of a Service. Endpoints map from address to conditions. */
export const slice = (
  of: string,
  endpoints: Record<string, Conditions>,
  { name = `${of}-1`, namespace = 'shop', ports = { http: 8080 } as Record<string, number> } = {},
): EndpointSlice => ({
  ...metadata('discovery.k8s.io/v1', 'EndpointSlice', name, namespace, { 'kubernetes.io/service-name': of }),
  addressType: Object.keys(endpoints).some((address) => address.includes(':')) ? 'IPv6' : 'IPv4',
  endpoints: Object.entries(endpoints).map(([address, conditions]) => ({ addresses: [address], conditions })),
  ports: Object.entries(ports).map(([portName, port]) => ({ name: portName, port, protocol: 'TCP' })),
});

export const secret = (
  name: string,
  { certificate, key }: { certificate: string; key: string },
  { namespace = 'shop', type = 'kubernetes.io/tls' as string | undefined } = {},
): Secret => ({
  ...metadata('v1', 'Secret', name, namespace),
  type,
  data: {
    'tls.crt': Buffer.from(certificate).toString('base64'),
    'tls.key': Buffer.from(key).toString('base64'),
  },
});

const metadata = (
  apiVersion: string,
  kind: string,
  name: string,
  namespace: string,
  labels?: Record<string, string>,
): KubeObject => ({ apiVersion, kind, metadata: { name, namespace, ...(labels && { labels }) } });

/** A RoutePolicy or ClusterRoutePolicy; without a namespace, the latter. `age` in seconds. */
export const attachedPolicy = (
  { name = 'policy', namespace, age = 0 }: { name?: string; namespace?: string; age?: number },
  spec: AttachedPolicy['spec'],
): AttachedPolicy => ({
  apiVersion: 'networking.tidegate.io/v1alpha1',
  kind: namespace === undefined ? 'ClusterRoutePolicy' : 'RoutePolicy',
  metadata: {
    name,
    ...(namespace !== undefined && { namespace }),
    uid: `uid-${name}`,
    generation: 1,
    creationTimestamp: new Date(NEWEST - age * 1000).toISOString(),
  },
  spec,
});

export const configMap = (name: string, data: Record<string, string>, namespace = 'shop'): ConfigMap => ({
  ...metadata('v1', 'ConfigMap', name, namespace),
  data,
});

/** A class of Tidegate that allows its Ingresses to add these headers to responses. */
export const classWithHeaders = (allowed: string, name = CLASS): IngressClass => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  metadata: { name, annotations: { 'tidegate.io/allowed-response-headers': allowed } },
  spec: { controller: 'tidegate.io/nginx' },
});
