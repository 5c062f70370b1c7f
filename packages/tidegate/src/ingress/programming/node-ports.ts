/** Endpoints of upstreams as ports of nodes, for load balancers that do not reach pods. */
import type { Cache, Node, Service } from '@tidegate/kube';
import type { Upstream } from '../model.ts';

/** A node with this label is not used by load balancers. */
const EXCLUDED_LABEL = 'node.kubernetes.io/exclude-from-external-load-balancers';

/** Returns a function that replaces the endpoints of an upstream by the node port of its Service on all ready nodes. */
export const nodePortEndpoints =
  (services: Pick<Cache<Service>, 'get'>, nodes: Pick<Cache<Node>, 'list'>) =>
  (upstream: Upstream): Upstream => {
    const { namespace, service, id } = upstream;
    const { problem: _, ...rest } = upstream;
    if (upstream.problem === 'closed' || upstream.problem === 'notSupported') return upstream;
    const found = services.get(`${namespace}/${service}`);
    if (found === undefined) return { ...rest, endpoints: [], problem: 'noService' };
    // The name of an upstream has the port as the Ingress names it; names of ports have no underscore.
    const [port = ''] = id.slice(`${namespace}_${service}_`.length).split('_');
    const { nodePort } =
      (found.spec?.ports ?? []).find(({ name, port: number }) => name === port || String(number) === port) ??
      {};
    if (nodePort === undefined) return { ...rest, endpoints: [], problem: 'noPort' };
    // A Service without pods would answer on no node: the response has to be 503, not a failed connection.
    if (upstream.endpoints.length === 0) return upstream;
    const addresses = nodes
      .list()
      .filter(isUsed)
      .flatMap((node) => internalAddress(node) ?? [])
      .sort();
    const endpoints = addresses.map((address) => ({ address, port: nodePort }));
    return endpoints.length === 0 ? { ...rest, endpoints, problem: 'noEndpoints' } : { ...rest, endpoints };
  };

const isUsed = ({ metadata, spec, status }: Node): boolean =>
  metadata.labels?.[EXCLUDED_LABEL] === undefined &&
  spec?.unschedulable !== true &&
  (status?.conditions ?? []).some((each) => each.type === 'Ready' && each.status === 'True');

const internalAddress = ({ status }: Node): string | undefined =>
  status?.addresses?.find(({ type }) => type === 'InternalIP')?.address;
