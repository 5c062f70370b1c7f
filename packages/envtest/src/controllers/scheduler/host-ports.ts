/** The ports that a pod occupies on its node. */
import type { Pod } from '@tidegate/kube';

/** A port of the node that a container occupies. */
export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

const EVERY_ADDRESS = '0.0.0.0';

/** The host ports of all containers that run permanently. Init containers that end are not included. */
export function hostPortsOf(pod: Pod): HostPort[] {
  const sidecars = (pod.spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...(pod.spec?.containers ?? []), ...sidecars].flatMap(({ ports = [] }) =>
    ports
      .filter(({ hostPort = 0 }) => hostPort > 0)
      .map(({ hostPort = 0, hostIP, protocol }) => ({
        ip: hostIP || EVERY_ADDRESS,
        protocol: protocol || 'TCP',
        port: hostPort,
      })),
  );
}

/**
 * Whether two pods with these ports cannot run on the same node. An empty address means all addresses of the node.
 */
export const portsConflict = (a: HostPort, b: HostPort): boolean =>
  a.port === b.port &&
  a.protocol === b.protocol &&
  (a.ip === b.ip || a.ip === EVERY_ADDRESS || b.ip === EVERY_ADDRESS);
