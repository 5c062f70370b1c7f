import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { Agent, get, request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { StandInConfig } from './config.ts';
import { StandInServer } from './server.ts';

const config: StandInConfig = {
  pod: 'web-1',
  namespace: 'shop',
  node: 'node-a',
  pool: 'hangzhou',
  image: 'nginx:1.27',
  address: `127.${randomInt(130, 250)}.${randomInt(1, 250)}.2`,
  ports: [18080],
  completes: false,
};

const servers: StandInServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

function start(changes: Partial<StandInConfig> = {}): { server: StandInServer; lines: string[] } {
  const lines: string[] = [];
  const server = new StandInServer({
    config: { ...config, ...changes },
    log: (line) => lines.push(line),
    onPortError: (error) => lines.push(error.code ?? ''),
  });
  servers.push(server);
  return { server, lines };
}

interface Answer {
  status: number | undefined;
  connection: string | undefined;
  body: string;
}

async function ask(port: number, path = '/', agent: Agent | false = false): Promise<Answer> {
  const call = get({ host: config.address, port, path, agent, headers: { 'X-Twice': ['a', 'b'] } });
  const [response] = await once(call, 'response');
  let body = '';
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode, connection: response.headers.connection, body };
}

describe('a stand-in', () => {
  test('responds with its identity and the request', async () => {
    const { lines } = start();
    const { status, body } = await ask(18080, '/a/b?c=d');
    expect(status).toBe(200);
    expect(body.endsWith('}\n')).toBe(true);
    expect(JSON.parse(body)).toMatchObject({
      pod: 'web-1',
      namespace: 'shop',
      node: 'node-a',
      pool: 'hangzhou',
      image: 'nginx:1.27',
      method: 'GET',
      path: '/a/b?c=d',
      headers: { host: `${config.address}:18080`, 'x-twice': ['a', 'b'] },
    });
    expect(lines).toEqual([expect.stringMatching(/^\d{4}-\S+Z GET \/a\/b\?c=d 200\n$/)]);
  });

  test('keeps a connection across requests with unread bodies', async () => {
    start();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number | undefined>();
    for (let i = 0; i < 3; i++) {
      const call = request({ host: config.address, port: 18080, method: 'POST', agent });
      call.end('x'.repeat(200_000));
      const [response] = await once(call, 'response');
      ports.add(call.socket?.localPort);
      for await (const _ of response);
    }
    expect(ports.size).toBe(1);
    agent.destroy();
  });

  test('follows its ports without interrupting those that stay', async () => {
    const { server } = start();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await ask(18080, '/', agent);
    server.configure({ ...config, ports: [18080, 18081] });
    expect((await ask(18081)).status).toBe(200);
    server.configure({ ...config, ports: [18080] });
    await expect(ask(18081)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect((await ask(18080, '/', agent)).status).toBe(200);
    agent.destroy();
  });

  test('responds while it drains, and asks clients to disconnect', async () => {
    const { server } = start();
    const agent = new Agent({ keepAlive: true });
    expect((await ask(18080, '/', agent)).connection).toBe('keep-alive');
    server.drain();
    expect(await ask(18080, '/', agent)).toMatchObject({ status: 200, connection: 'close' });
    expect((await ask(18080)).status).toBe(200);
    await server.close();
    await expect(ask(18080)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('reports a port that it cannot open', async () => {
    start();
    const { lines } = start();
    await expect.poll(() => lines).toEqual(['EADDRINUSE']);
  });

  test('echoes WebSocket messages', async () => {
    start();
    const socket = connect(18080, config.address);
    const received: Buffer[] = [];
    socket.on('data', (chunk) => received.push(chunk));
    const text = (): string => Buffer.concat(received).toString('latin1');
    socket.write(
      'GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    // The key and its response are the example of RFC 6455.
    await expect.poll(text).toContain('Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n');
    received.length = 0;
    const mask = [1, 2, 3, 4];
    const hello = [...Buffer.from('hello')].map((byte, i) => byte ^ mask[i % 4]!);
    socket.write(Buffer.from([0x81, 0x85, ...mask]));
    socket.write(Buffer.from(hello));
    await expect.poll(text).toBe('\x81\x05hello');
    socket.destroy();
  });
});
