import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientsEntry } from '../../../packages/tidegate/src/ingress/clients/index.ts';
import { readNetwork } from '../../../packages/tidegate/src/ingress/policy/networks.ts';
import { statusOf } from '../support/client.ts';
import { host, upstream } from '../support/words.ts';
import { type MakeDriver, World } from '../support/world.ts';

const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n';
const REQUEST = 'GET / HTTP/1.1\r\nHost: echo.io\r\nConnection: close\r\n\r\n';

const binary = (command: number, family: number, addresses: number[], more = ''): string => {
  const rest = `${String.fromCharCode(...addresses)}${more}`;
  return `${SIGNATURE}${String.fromCharCode(0x20 | command, (family << 4) | 1, rest.length >> 8, rest.length & 255)}${rest}`;
};
const IPV4 = [198, 51, 100, 7, 127, 0, 0, 1, 0xde, 0xad, 0, 80];
const IPV6 = [
  0x20,
  0x01,
  0x0d,
  0xb8,
  ...Array<number>(11).fill(0),
  9,
  ...Array<number>(16).fill(0),
  0,
  1,
  0,
  80,
];

/** Listeners with the PROXY protocol: every connection must begin with its header. */
export function proxyProtocol(make: MakeDriver): void {
  describe('the PROXY protocol', () => {
    let world: World;

    beforeAll(async () => {
      world = await World.start(make, {}, { proxyProtocol: true });
      const echo = await world.backend('echo');
      const trusted = ['127.0.0.2', '192.0.2.8'].map((text) => readNetwork(text)!);
      await world.change({
        hosts: [
          host('echo.io', 'echo'),
          clientsEntry({ trusted, header: 'x-forwarded-for', wholeUrl: true }),
        ],
        upstreams: [upstream('echo', [echo.port])],
      });
    });
    afterAll(() => world.stop());

    /** Everything that is received for these bytes until the connection is closed. */
    const send = (bytes: string, localAddress = '127.0.0.2'): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect({ port: world.ports.http, host: '127.0.0.1', localAddress });
        let received = '';
        socket.on('data', (chunk: Buffer) => {
          received += chunk.toString('latin1');
        });
        // A connection that is closed with unread bytes is reset.
        socket.on('error', () => {});
        socket.once('close', () => resolve(received));
        socket.write(bytes, 'latin1');
      });
    const clientOf = async (bytes: string, localAddress?: string): Promise<unknown> => {
      const received = await send(bytes, localAddress);
      expect(statusOf(received)).toBe(200);
      return (JSON.parse(/\{.*\}/s.exec(received)?.[0] ?? '') as { headers: Record<string, string> }).headers[
        'x-real-ip'
      ];
    };

    test.each<[string, string, string]>([
      ['version 1', 'PROXY TCP4 198.51.100.7 127.0.0.1 56324 80\r\n', '198.51.100.7'],
      ['version 1 with IPv6', 'PROXY TCP6 2001:db8::9 ::1 56324 80\r\n', '2001:db8::9'],
      ['version 1 of an unknown client', 'PROXY UNKNOWN\r\n', '127.0.0.2'],
      ['version 2', binary(1, 1, IPV4), '198.51.100.7'],
      ['version 2 with IPv6', binary(1, 2, IPV6), '2001:db8::9'],
      ['version 2 with more fields', binary(1, 1, IPV4, '\x04\x00\x03abc'), '198.51.100.7'],
      ['version 2 of the proxy itself', binary(0, 0, []), '127.0.0.2'],
    ])('reports the client with %s', async (_, header, client) => {
      expect(await clientOf(header + REQUEST)).toBe(client);
    });

    test('does not count if the proxy is not trusted', async () => {
      expect(await clientOf(`PROXY TCP4 198.51.100.7 127.0.0.1 1 80\r\n${REQUEST}`, '127.0.0.3')).toBe(
        '127.0.0.3',
      );
    });

    test('counts before X-Forwarded-For, which counts only if the reported client is a trusted proxy', async () => {
      const request = REQUEST.replace('Host', 'X-Forwarded-For: 203.0.113.9\r\nHost');
      expect(await clientOf(`PROXY TCP4 198.51.100.7 127.0.0.1 1 80\r\n${request}`)).toBe('198.51.100.7');
      expect(await clientOf(`PROXY TCP4 192.0.2.8 127.0.0.1 1 80\r\n${request}`)).toBe('203.0.113.9');
    });

    test.each<[string, string]>([
      ['no header', REQUEST],
      ['a header without an address', `PROXY TCP4 echo 127.0.0.1 1 80\r\n${REQUEST}`],
      ['a header of version 3', `${binary(1, 1, IPV4).replace('\x21', '\x31')}${REQUEST}`],
      ['a header that is too short for its addresses', `${binary(1, 1, IPV4.slice(0, 6))}${REQUEST}`],
    ])('closes a connection with %s', async (_, bytes) => {
      expect(await send(bytes)).toBe('');
    });

    test('works with TLS and several requests on a connection', async () => {
      const socket = connect({ port: world.ports.https, host: '127.0.0.1', localAddress: '127.0.0.2' });
      socket.write('PROXY TCP4 198.51.100.7 127.0.0.1 56324 443\r\n');
      const secure = connectTls({ socket, servername: 'echo.io', rejectUnauthorized: false });
      const received = await new Promise<string>((resolve, reject) => {
        let text = '';
        secure.on('data', (chunk: Buffer) => {
          text += chunk.toString('latin1');
        });
        secure.once('error', reject);
        secure.once('close', () => resolve(text));
        secure.write(REQUEST.replace('Connection: close\r\n', '') + REQUEST);
      });
      expect(received.match(/"x-real-ip":"198\.51\.100\.7"/g)).toHaveLength(2);
    });

    test('lets the data plane close while a header is awaited', async () => {
      const other = await World.start(make, {}, { proxyProtocol: true });
      const closed = new Promise<void>((resolve) => {
        const socket = connect({ port: other.ports.http, host: '127.0.0.1' }, () => {
          socket.write('PROXY', () => void other.stop());
        });
        socket.on('error', () => {});
        socket.once('close', () => resolve());
      });
      await closed;
    });
  });
}
