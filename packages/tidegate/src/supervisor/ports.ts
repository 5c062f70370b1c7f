/**
 * The ports that every node and every router of a cluster uses, each on its own loopback address. A program that
 * listens on all addresses of the machine takes its port from all of them, so `up` looks for such programs before it
 * starts anything, and uses other ports where it finds one.
 */
import { codeOf } from './error.ts';
import { choosePort, isFree, OFFSET } from './free-port.ts';

/** The API server connects to the port `kubelet`, where a relay listens; the agent itself listens on `agent`. */
export const DEFAULT_PORTS = {
  kubelet: 10250,
  agent: 10251,
  hubHttp: 10261,
  hubHttps: 10268,
  hubAdmin: 10267,
  hubGroup: 10269,
  routerHttp: 8080,
  routerHttps: 8443,
  routerAdmin: 10254,
};

export type PortName = keyof typeof DEFAULT_PORTS;
export type ClusterPorts = Readonly<Record<PortName, number>>;

export const PORT_NAMES = Object.keys(DEFAULT_PORTS) as PortName[];

const USERS: Readonly<Record<PortName, string>> = {
  kubelet: 'kubelets',
  agent: 'node agents',
  hubHttp: 'hubs',
  hubHttps: 'hubs',
  hubAdmin: 'hubs',
  hubGroup: 'hubs',
  routerHttp: 'routers',
  routerHttps: 'routers',
  routerAdmin: 'routers',
};

/** Replaces those of the wanted ports that are in use; `report` gets a line for each. */
export async function choosePorts(
  wanted: ClusterPorts,
  free: (name: PortName, port: number) => Promise<boolean>,
  report: (line: string) => void,
): Promise<ClusterPorts> {
  const chosen = { ...wanted };
  for (const name of PORT_NAMES) {
    if (await free(name, wanted[name])) continue;
    const others = new Set(PORT_NAMES.filter((other) => other !== name).map((other) => chosen[other]));
    chosen[name] = await choosePort(
      wanted[name] + OFFSET,
      async (port) => !others.has(port) && (await free(name, port)),
    );
    report(
      `port ${wanted[name]} is in use by another program on this machine; ${USERS[name]} use ${chosen[name]} instead`,
    );
  }
  return chosen;
}

/** An address of the range that no node and no pod gets, to look for programs that listen on all addresses. */
const probeAddress = (range: number): string => `127.${range}.255.254`;

/** Whether no other program listens on a port on all addresses, so that pods can. */
export const freeForPods =
  (range: number) =>
  async (port: number): Promise<boolean> => {
    try {
      return await isFree({ host: probeAddress(range), port });
    } catch (error) {
      // An ordinary user cannot find out, and another port would not help: the pod is what lacks the permission.
      if (codeOf((error as Error).cause) === 'EACCES') return true;
      throw error;
    }
  };

/** What to know about ports below 1024; undefined if this user can listen on them. */
export async function lowPortsNote(
  { range, serviceCIDR }: { range: number; serviceCIDR?: string },
  listen = isFree,
): Promise<string | undefined> {
  if (serviceCIDR === undefined) return undefined;
  try {
    await listen({ host: probeAddress(range), port: LOW_PORT });
    return undefined;
  } catch (error) {
    if (codeOf((error as Error).cause) !== 'EACCES') throw error;
    return `ClusterIPs do not answer on ports below 1024, because only root may listen there. Allow it with \`sudo sysctl -w net.ipv4.ip_unprivileged_port_start=${LOW_PORT}\`.`;
  }
}

/** The port of most Services. */
const LOW_PORT = 80;

/** Ports of nodes must be free on the address of each node, those of pods at least not taken on all addresses. */
export const freeIn =
  (range: number, nodes: readonly string[]) =>
  async (name: PortName, port: number): Promise<boolean> => {
    const hosts = [probeAddress(range), ...(name.startsWith('router') ? [] : nodes)];
    const found = await Promise.all(hosts.map((host) => isFree({ host, port })));
    return found.every(Boolean);
  };
