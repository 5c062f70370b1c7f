import { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readClientHello } from './client-hello.ts';

/** The first bytes that a TLS client sends. */
function helloOf(servername?: string): Promise<Buffer> {
  return new Promise((resolve) => {
    const wire = new Duplex({ read() {}, write: (chunk: Buffer) => resolve(chunk) });
    connect({ socket: wire, ...(servername && { servername }) }).on('error', () => {});
  });
}

test('finds out whether the client asks for a server name', async () => {
  expect(readClientHello(await helloOf('a.example.com'))).toBe('named');
  expect(readClientHello(await helloOf())).toBe('unnamed');
});

test('waits until the hello is complete, also if it is split into records', async () => {
  const hello = await helloOf('a.example.com');
  for (let length = 0; length < hello.length; length++)
    expect(readClientHello(hello.subarray(0, length))).toBe('incomplete');
  const message = hello.subarray(5);
  const records = [message.subarray(0, 2), message.subarray(2, 40), message.subarray(40)].flatMap((part) => [
    Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]),
    part,
  ]);
  const split = Buffer.concat(records);
  expect(readClientHello(split)).toBe('named');
  expect(readClientHello(split.subarray(0, -1))).toBe('incomplete');
});

test('never throws', async () => {
  const hello = await helloOf('a.example.com');
  const changes = fc.array(fc.tuple(fc.nat(hello.length - 1), fc.nat(255)), { maxLength: 8 });
  fc.assert(
    fc.property(changes, (bytes) => {
      const changed = Buffer.from(hello);
      for (const [at, value] of bytes) changed[at] = value;
      readClientHello(changed);
    }),
  );
  expect(readClientHello(Buffer.from('GET / HTTP/1.1\r\n'))).toBe('unnamed');
});
