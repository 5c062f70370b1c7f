import { createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { listeners, recentWildcardPorts, wildcardPorts } from './listeners.ts';

const servers: Server[] = [];
afterEach(() => {
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

  it('are unknown on a system without the tables', () => {
    expect(listeners(() => '')).toEqual([]);
  });
});
