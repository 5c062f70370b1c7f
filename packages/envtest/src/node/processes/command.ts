/** The command line of a container. Pure functions. */
import type { Pod } from '@tidegate/kube';
import type { Container, ContainerPlace } from '../contracts.ts';

/** The values of the placeholders in the commands of image rules. */
export interface Placeholders {
  root: string;
  podIP: string;
  nodeIP: string;
  pod: string;
  namespace: string;
  node: string;
  port: string;
}

export function placeholdersOf(
  pod: Pod,
  container: Container,
  place: ContainerPlace,
  { podIP, nodeIP }: { podIP: string; nodeIP: string },
): Placeholders {
  return {
    root: place.root,
    podIP,
    nodeIP,
    pod: pod.metadata.name ?? '',
    namespace: pod.metadata.namespace ?? '',
    node: pod.spec?.nodeName ?? '',
    port: String(container.ports?.[0]?.containerPort ?? ''),
  };
}

/** Replaces placeholders such as `{root}`. Other text in braces stays, because programs have their own uses for it. */
export const fillIn = (text: string, placeholders: Placeholders): string =>
  text.replace(/\{(\w+)\}/g, (whole, name: string) =>
    Object.hasOwn(placeholders, name) ? placeholders[name as keyof Placeholders] : whole,
  );

/** The first TCP port that the container declares. */
export const firstTcpPort = ({ ports = [] }: Container): number | undefined =>
  ports.find(({ protocol = 'TCP' }) => protocol === 'TCP')?.containerPort;

/** Tells an unprivileged user how to allow the port that a container failed to bind. */
export function portAdvice({ name, ports = [] }: Container): string {
  const low = ports.map(({ containerPort }) => containerPort).filter((port) => port < 1024);
  const first = low.length === 0 ? 80 : Math.min(...low);
  const which = low.length === 0 ? 'a port below 1024' : `port ${first}`;
  return (
    `container ${name} may not listen on ${which}: by default only root may. Allow it for all users with ` +
    `"sudo sysctl -w net.ipv4.ip_unprivileged_port_start=${first}", or for this program with ` +
    '"sudo setcap cap_net_bind_service=+ep $(readlink -f $(which node))"; or use a port above 1023.'
  );
}
