/** The Service default/kubernetes, through which pods find the API server. Filters replace its address with the hub's. */
import { isIPv6 } from 'node:net';
import { type KubeObject, keyOf } from '@tidegate/kube';
import type { FilterContext } from './filter.ts';

export const KUBERNETES_SERVICE = 'default/kubernetes';
const PORT_NAME = 'https';

export const isKubernetesService = (service: KubeObject): boolean => keyOf(service) === KUBERNETES_SERVICE;

/** The ports of the Service or of its endpoints, with the port of the hub in place of the API server's. */
export const withHubPort = <P extends { name?: string; port?: number }>(
  ports: readonly P[],
  { hub }: FilterContext,
): P[] => ports.map((port) => (port.name === PORT_NAME ? { ...port, port: hub.port } : port));

export const hubUrl = ({ hub: { host, port } }: FilterContext): string =>
  `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
