import { text } from 'node:stream/consumers';
import { constants, createDeflate, createInflate } from 'node:zlib';
import { expect, test } from 'vitest';
import { duplexPair } from '../../testing/duplex-pair.ts';
import { SpdyConnection, type SpdyStream } from './connection.ts';
import { DICTIONARY, withLength } from './dictionary.ts';
import { dataFrame, takeFrame } from './frames.ts';

/** Written as client-go writes them: headers compressed with the dictionary. */
async function openFrame(stream: number, headers: Record<string, string>): Promise<Buffer> {
  const deflate = createDeflate({ dictionary: DICTIONARY, flush: constants.Z_SYNC_FLUSH });
  const pieces: Buffer[] = [];
  deflate.on('data', (piece: Buffer) => pieces.push(piece));
  const entries = Object.entries(headers);
  const count = Buffer.from([0, 0, 0, entries.length]);
  const block = Buffer.concat([count, ...entries.flat().map(withLength)]);
  await new Promise<void>((resolve) => deflate.write(block, () => resolve()));
  const payload = Buffer.concat([Buffer.from([0, 0, 0, stream, 0, 0, 0, 0, 0, 0]), ...pieces]);
  return Buffer.concat([
    Buffer.from([0x80, 3, 0, 1, 0, 0, payload.length >> 8, payload.length & 0xff]),
    payload,
  ]);
}

test('the dictionary is that of SPDY version 3', async () => {
  // The identifier of the dictionary is in every first block: an Adler-32 sum that the protocol fixes.
  const deflate = createDeflate({ dictionary: DICTIONARY });
  const [first] = await new Promise<Buffer[]>((resolve) => {
    deflate.once('data', (piece: Buffer) => resolve([piece]));
    deflate.end('x');
  });
  expect(first?.subarray(2, 6).toString('hex')).toBe('e3c6a7c2');
  expect(createInflate({ dictionary: DICTIONARY })).toBeDefined();
});

test('a frame is taken when it is complete, and an oversized one is rejected', () => {
  const frame = dataFrame(5, Buffer.from('hello'), true);
  expect(takeFrame(frame.subarray(0, 12))).toBeUndefined();
  expect(takeFrame(Buffer.concat([frame, frame]))).toEqual({
    frame: { type: 'data', stream: 5, fin: true, data: Buffer.from('hello') },
    length: frame.length,
  });
  expect(() => takeFrame(Buffer.from([0, 0, 0, 1, 0, 0xff, 0xff, 0xff]))).toThrow('too large');
  expect(() => takeFrame(Buffer.from([0x80, 2, 0, 1, 0, 0, 0, 0]))).toThrow('SPDY version 3');
});

test('a client opens a stream, sends data in pieces, and receives an answer', async () => {
  const [client, server] = duplexPair();
  const opened: SpdyStream[] = [];
  const connection = new SpdyConnection(server, (stream) => {
    opened.push(stream);
    stream.duplex.on('data', (data: Buffer) => stream.duplex.write(data.toString().toUpperCase()));
    stream.duplex.on('end', () => stream.duplex.end(() => connection.close()));
  });
  const bytes = Buffer.concat([
    await openFrame(1, { streamtype: 'stdin' }),
    dataFrame(1, Buffer.from('some '), false),
    dataFrame(1, Buffer.from('words'), true),
  ]);
  for (const byte of bytes) client.write(Buffer.from([byte]));
  const received = Buffer.from(await text(client.setEncoding('latin1')), 'latin1');
  expect(opened[0]?.headers).toEqual({ streamtype: 'stdin' });
  const data: string[] = [];
  for (let rest = received, taken = takeFrame(rest); taken !== undefined; taken = takeFrame(rest)) {
    rest = rest.subarray(taken.length);
    if (taken.frame.type === 'data') data.push(taken.frame.data.toString());
  }
  expect(data.join('')).toBe('SOME WORDS');
});
