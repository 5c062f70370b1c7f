import type { Delta, HostRoutes, RouteAction, Upstream } from '../../packages/tidegate/src/ingress/model.ts';

/** Number of Services, which all hosts share: tenants often have more hosts than Services. */
const SERVICES = 100;
export const PATHS = ['/static', '/api', '/'] as const;

/** The same routes for every contender: hosts with three paths each, Services with two endpoints each. */
export interface Routes {
  hosts: number;
  /** `address:port` of the backends. */
  endpoints: readonly string[];
}

export const hostName = (index: number): string => `host-${index}.bench.example`;
export const serviceOf = (host: number, path: number): number => (host * PATHS.length + path) % SERVICES;
export const services = (): number[] => Array.from({ length: SERVICES }, (_, index) => index);
export const hosts = ({ hosts: count }: Routes): number[] =>
  Array.from({ length: count }, (_, index) => index);

/** The routes as a full state for a Driver. */
export function deltaOf(routes: Routes): Delta {
  return {
    from: 0,
    to: 1,
    hosts: { set: hosts(routes).map(hostRoutes), remove: [] },
    upstreams: { set: services().map((index) => upstream(index, routes)), remove: [] },
    certificates: { set: [], remove: [] },
  };
}

const hostRoutes = (index: number): HostRoutes => ({
  host: hostName(index),
  namespace: 'bench',
  routes: PATHS.map((path, at) => ({ path, match: 'Prefix', headers: [], action: action(index, at) })),
});

const action = (host: number, path: number): RouteAction => ({
  backends: [{ upstream: upstreamId(serviceOf(host, path)), weight: 1 }],
  limits: {},
  source: { kind: 'Ingress', namespace: 'bench', name: `ingress-${host}`, rule: 0, path },
});

const upstreamId = (index: number): string => `bench_service-${index}_80`;

const upstream = (index: number, { endpoints }: Routes): Upstream => ({
  id: upstreamId(index),
  namespace: 'bench',
  service: `service-${index}`,
  protocol: 'http',
  balance: 'roundRobin',
  endpoints: endpoints.map((endpoint) => {
    const [address = '', port] = endpoint.split(':');
    return { address, port: Number(port) };
  }),
});
