import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { listeners, recentListener, recentWildcardPorts, wildcardPorts } from './listeners.ts';

const servers: Server[] = [];
const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  for (const server of servers.splice(0)) server.close();
});

async function listen(options: { host: string; ipv6Only?: boolean }): Promise<number> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((resolve) => server.listen({ port: 0, ...options }, resolve));
  return (server.address() as { port: number }).port;
}

describe('the listeners of this machine', () => {
  it('include one on a loopback address, with the address', async () => {
    const port = await listen({ host: '127.77.1.2' });
    expect(listeners()).toContainEqual({ address: '127.77.1.2', port });
    expect(wildcardPorts()).not.toContain(port);
  });

  it('include one with a socket of IPv6', async () => {
    const port = await listen({ host: '::ffff:127.77.1.4' });
    expect(listeners()).toContainEqual({ address: '127.77.1.4', port });
  });

  it('are all found, also if there are many of them and many connections', async () => {
    const ports = await Promise.all(Array.from({ length: 60 }, () => listen({ host: '127.77.1.3' })));
    const port = ports[0] ?? 0;
    await Promise.all(
      Array.from({ length: 60 }, () => {
        const client = connect(port, '127.77.1.3');
        clients.push(client);
        return new Promise((resolve) => client.once('connect', resolve));
      }),
    );
    const found = listeners().filter(({ address }) => address === '127.77.1.3');
    expect(new Set(found.map((each) => each.port))).toEqual(new Set(ports));
  });

  it('are read from the tables of the kernel', () => {
    const tables: Record<string, string> = {
      '/proc/net/tcp': [
        '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
        '   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1',
        '   1: 0100407F:280A 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2',
        '   2: 0100007F:9C40 0100007F:280A 01 00000000:00000000 00:00000000 00000000     0        0 3',
        '',
      ].join('\n'),
      '/proc/net/tcp6': [
        '  sl  local_address                         remote_address                        st',
        '   0: 00000000000000000000000000000000:20FB 00000000000000000000000000000000:0000 0A',
        '   1: 0000000000000000FFFF00000100007F:0050 00000000000000000000000000000000:0000 0A',
        '   2: 00000000000000000000000001000000:0051 00000000000000000000000000000000:0000 0A',
        '',
      ].join('\n'),
    };
    const found = listeners((path) => tables[path] ?? '');
    expect(found).toEqual([
      { address: '0.0.0.0', port: 8080 },
      { address: '127.64.0.1', port: 10250 },
      { address: '0.0.0.0', port: 8443 },
      { address: '127.0.0.1', port: 80 },
    ]);
    expect([...wildcardPorts(found)]).toEqual([8080, 8443]);
  });

  it('are looked up again after a while only', () => {
    let [time, lookups] = [0, 0];
    const recent = recentWildcardPorts(
      () => new Set([++lookups]),
      () => time,
    );
    expect([...recent(), ...recent()]).toEqual([1, 1]);
    time = 6_000;
    expect([...recent()]).toEqual([2]);
  });

  it('are looked up again for an address that was not among them', () => {
    const found = [{ address: '127.0.0.1', port: 80 }];
    let lookups = 0;
    const listens = recentListener(
      () => {
        lookups++;
        return found;
      },
      () => 0,
    );
    expect([listens('127.0.0.1', 80), listens('127.0.0.1', 80)]).toEqual([true, true]);
    expect(lookups).toBe(1);
    expect(listens('127.0.0.2', 80)).toBe(false);
    found.push({ address: '127.0.0.2', port: 80 });
    expect(listens('127.0.0.2', 80)).toBe(true);
    expect(lookups).toBe(3);
  });

  it('are looked up again when they may have ended', () => {
    let time = 0;
    let found = [{ address: '127.0.0.1', port: 80 }];
    const listens = recentListener(
      () => found,
      () => time,
    );
    expect(listens('127.0.0.1', 80)).toBe(true);
    found = [];
    time = 6_000;
    expect(listens('127.0.0.1', 80)).toBe(false);
  });

  it('are unknown on a system without the tables', () => {
    expect(listeners(() => '')).toEqual([]);
  });
});
