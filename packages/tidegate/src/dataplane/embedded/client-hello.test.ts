import { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { ClientHelloReader } from './client-hello.ts';

/** The first bytes that a TLS client sends. */
function helloOf(servername?: string): Promise<Buffer> {
  return new Promise((resolve) => {
    const wire = new Duplex({ read() {}, write: (chunk: Buffer) => resolve(chunk) });
    connect({ socket: wire, ...(servername && { servername }) }).on('error', () => {});
  });
}

const read = (bytes: Buffer) => new ClientHelloReader().push(bytes);
const readClientHello = (bytes: Buffer): string => read(bytes).kind;

/** The content of a record in records of this size. */
function inRecords(record: Buffer, size: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 5; at < record.length; at += size) {
    const part = record.subarray(at, at + size);
    parts.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part);
  }
  return Buffer.concat(parts);
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

test('reads the name from chunks and records of any size', async () => {
  const hello = await helloOf('a.example.com');
  for (const size of [1, 2, 3, 7, 100]) {
    const split = inRecords(hello, size);
    expect(read(split)).toEqual({ kind: 'named', name: 'a.example.com' });
    for (const chunk of [1, 4, 5, 6]) {
      const reader = new ClientHelloReader();
      let result: ReturnType<typeof read> = { kind: 'incomplete' };
      let at = 0;
      for (; result.kind === 'incomplete' && at < split.length; at += chunk)
        result = reader.push(split.subarray(at, at + chunk));
      expect(result).toEqual({ kind: 'named', name: 'a.example.com' });
      expect(at).toBeGreaterThanOrEqual(split.length);
    }
  }
});

test('reads each byte once, however small the chunks and records are', () => {
  const concat = Buffer.concat.bind(Buffer);
  let copied = 0;
  const spy = vi.spyOn(Buffer, 'concat').mockImplementation((list, length) => {
    copied += list.reduce((sum, { length: bytes }) => sum + bytes, 0);
    return concat(list, length);
  });
  const hello = Buffer.alloc(40_000);
  hello.set([22, 3, 1, 0, 0, 1, 0, 0xff, 0xff]);
  const split = inRecords(hello, 1).subarray(0, 60_000);
  const reader = new ClientHelloReader();
  const kinds = new Set<string>();
  for (let at = 0; at < split.length; at++) kinds.add(reader.push(split.subarray(at, at + 1)).kind);
  spy.mockRestore();
  expect([...kinds]).toEqual(['incomplete']);
  expect(copied).toBeLessThan(10 * split.length);
});

test('gives up after 64 KB', () => {
  const reader = new ClientHelloReader();
  const empty = Buffer.from([22, 3, 1, 0, 0]);
  const kinds = new Set<string>();
  for (let bytes = 0; bytes < 65_000; bytes += empty.length) kinds.add(reader.push(empty).kind);
  expect([...kinds]).toEqual(['incomplete']);
  expect(reader.push(Buffer.concat(Array.from({ length: 200 }, () => empty))).kind).toBe('unnamed');
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
