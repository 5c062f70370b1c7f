import { createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { SupervisorError } from './error.ts';
import { isFree } from './free-port.ts';
import { choosePorts, DEFAULT_PORTS, freeForPods, freeIn, lowPortsNote, type PortName } from './ports.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Another program that listens on an address; returns its port. */
async function stranger(host: string): Promise<number> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((resolve) => server.listen({ port: 0, host }, resolve));
  return (server.address() as { port: number }).port;
}

describe('the ports of a cluster', () => {
  it('are the usual ones if they are free', async () => {
    const lines: string[] = [];
    const ports = await choosePorts(
      DEFAULT_PORTS,
      async () => true,
      (line) => lines.push(line),
    );
    expect(ports).toEqual(DEFAULT_PORTS);
    expect(lines).toEqual([]);
  });

  it('are replaced where another program has them, with a line for each', async () => {
    const taken = new Set([8080, 10250, 20250]);
    const lines: string[] = [];
    const free = async (_: PortName, port: number): Promise<boolean> => !taken.has(port);
    const ports = await choosePorts(DEFAULT_PORTS, free, (line) => lines.push(line));
    expect(ports).toMatchObject({ routerHttp: 18080, routerHttps: 8443, agent: 10251 });
    expect(ports.kubelet).toBeGreaterThanOrEqual(20_000);
    expect(new Set(Object.values(ports)).size).toBe(Object.keys(DEFAULT_PORTS).length);
    expect(lines).toEqual([
      `port 10250 is in use by another program on this machine; kubelets use ${ports.kubelet} instead`,
      'port 8080 is in use by another program on this machine; routers use 18080 instead',
    ]);
  });

  it('are not free while a program listens on an address that no node and no pod has, as on all addresses', async () => {
    const port = await stranger('127.101.255.254');
    expect(await freeIn(101, [])('routerHttp', port)).toBe(false);
    expect(await freeForPods(101)(port)).toBe(false);
    expect(await isFree({ host: '127.101.255.254', port })).toBe(false);
    expect(await isFree({ host: '127.101.0.1', port })).toBe(true);
  });

  it('of nodes must be free on the address of each node', async () => {
    const port = await stranger('127.101.0.2');
    expect(await freeIn(101, ['127.101.0.1', '127.101.0.2'])('hubHttp', port)).toBe(false);
    expect(await freeIn(101, ['127.101.0.1'])('hubHttp', port)).toBe(true);
    expect(await freeIn(101, ['127.101.0.1', '127.101.0.2'])('routerHttp', port)).toBe(true);
  });
});

describe('ports below 1024', () => {
  const cluster = { range: 100, serviceCIDR: '127.164.0.0/16' };

  it('are mentioned only if this user cannot listen on them', async () => {
    const refused = async (): Promise<boolean> => {
      throw new SupervisorError('port 80', { cause: Object.assign(new Error(), { code: 'EACCES' }) });
    };
    expect(await lowPortsNote(cluster, refused)).toBe(
      'ClusterIPs do not answer on ports below 1024, because only root may listen there. Allow it with `sudo sysctl -w net.ipv4.ip_unprivileged_port_start=80`.',
    );
    expect(await lowPortsNote({ range: 100 }, refused)).toBeUndefined();
    expect(await lowPortsNote(cluster, async () => true)).toBeUndefined();
    expect(await lowPortsNote(cluster, async () => false)).toBeUndefined();
  });
});
