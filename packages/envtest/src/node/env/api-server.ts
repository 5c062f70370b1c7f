import { isIPv6 } from 'node:net';
import type { Service } from '@tidegate/kube';

/** The variables with which the kubelet tells pods where the API server is; empty when the Service is unknown. */
export function apiServerVariables(service: Service | undefined): Record<string, string> {
  const endpoint = endpointOf(service);
  if (endpoint === undefined) return {};
  return {
    KUBERNETES_SERVICE_HOST: endpoint.host,
    KUBERNETES_SERVICE_PORT: endpoint.port,
    KUBERNETES_SERVICE_PORT_HTTPS: endpoint.port,
  };
}

/** `HOST:PORT`, in the form for URLs. */
export function apiEndpoint(service: Service | undefined): string | undefined {
  const endpoint = endpointOf(service);
  if (endpoint === undefined) return undefined;
  const { host, port } = endpoint;
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

function endpointOf(service: Service | undefined): { host: string; port: string } | undefined {
  const { clusterIP: host = '', ports = [] } = service?.spec ?? {};
  const port = (ports.find(({ name }) => name === 'https') ?? ports[0])?.port;
  return host === '' || port === undefined ? undefined : { host, port: String(port) };
}
