import { createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { nodeStateOf } from './client-node.ts';
import { inodeOf, inTable, parseTcpTable } from './tcp-table.ts';

const TABLE = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000 100
   1: 0100007F:C350 0500807F:0050 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0000000000000000 20
`;

test('the table of the kernel has addresses in the order of the processor', () => {
  expect(inTable({ address: '127.128.0.5', port: 80 })).toBe('0500807F:0050');
  expect(parseTcpTable(TABLE)).toEqual([
    { local: '0100007F:1F90', remote: '00000000:0000', inode: '4711' },
    { local: '0100007F:C350', remote: '0500807F:0050', inode: '4712' },
  ]);
});

test('finds connections of this machine, and that this test is not a container', async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const { connect } = await import('node:net');
  const client = connect(port, '127.0.0.1');
  await expect.poll(() => sockets.length).toBe(1);
  const here = { address: '127.0.0.1', port };
  expect(inodeOf({ address: '127.0.0.1', port: client.localPort! }, here)).toMatch(/^\d+$/);
  expect(inodeOf({ address: '127.0.0.9', port: 1 }, here)).toBeUndefined();
  expect(nodeStateOf(sockets[0]!)).toBeUndefined();
  client.destroy();
  server.close();
});
