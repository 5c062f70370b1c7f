/** The variables with which the kubelet describes the Services of a namespace to its pods. Pure. */
import type { Service } from '@tidegate/kube';

/**
 * For the Service `web` with port 80: `WEB_SERVICE_HOST`, `WEB_SERVICE_PORT`, and the variables of Docker links
 * (`WEB_PORT_80_TCP_ADDR` and so on). Services without a ClusterIP have none.
 */
export function serviceLinks(services: readonly Service[]): Record<string, string> {
  return Object.assign({}, ...services.map(linksOf)) as Record<string, string>;
}

function linksOf({ metadata, spec }: Service): Record<string, string> {
  const { clusterIP: host = '', ports = [] } = spec ?? {};
  const [first] = ports;
  if (host === '' || host === 'None' || first === undefined) return {};
  const prefix = variableName(metadata.name ?? '');
  const variables: Record<string, string> = {
    [`${prefix}_SERVICE_HOST`]: host,
    [`${prefix}_SERVICE_PORT`]: String(first.port),
    [`${prefix}_PORT`]: urlOf(host, first),
  };
  for (const port of ports) {
    const { name = '', protocol = 'TCP' } = port;
    const link = `${prefix}_PORT_${port.port}_${protocol}`;
    if (name !== '') variables[`${prefix}_SERVICE_PORT_${variableName(name)}`] = String(port.port);
    variables[link] = urlOf(host, port);
    variables[`${link}_PROTO`] = protocol.toLowerCase();
    variables[`${link}_PORT`] = String(port.port);
    variables[`${link}_ADDR`] = host;
  }
  return variables;
}

const variableName = (name: string): string => name.replaceAll('-', '_').toUpperCase();

const urlOf = (host: string, { protocol = 'TCP', port }: { protocol?: string; port: number }): string =>
  `${protocol.toLowerCase()}://${host}:${port}`;
