import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readProxyHeader } from './proxy-header.ts';

const read = (text: string) => readProxyHeader(Buffer.from(text, 'latin1'));
const BINARY = `\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c${String.fromCharCode(198, 51, 100, 7, 127, 0, 0, 1, 1, 2, 0, 80)}`;

describe('readProxyHeader', () => {
  it.each([
    'PROXY TCP4 198.51.100.7 127.0.0.1 1 80',
    'PROXY TCP4 ::1 127.0.0.1 1 80\r\n',
    'PROXY TCP6 198.51.100.7 ::1 1 80\r\n',
    'PROXY TCP4 198.51.100.7 127.0.0.1 1 70000\r\n',
    'PROXY TCP4 198.51.100.7  127.0.0.1 1 80\r\n',
    'PROXY TCP4 198.51.100.07 127.0.0.1 1 80\r\n',
    'PROXY UDP4 198.51.100.7 127.0.0.1 1 80\r\n',
    'GET / HTTP/1.1\r\n',
    BINARY.replace('\x21', '\x22'),
    BINARY.replace('\x00\x0c', '\x10\x00'),
  ])('refuses %j', (text) => {
    expect(read(text.endsWith('\r\n') || text.includes('QUIT') ? text : text.padEnd(200))).toBe('invalid');
  });

  it.each(['PROXY TCP4 198.51.100.7 127.0.0.1 1 80\r\n', BINARY])(
    'waits for all bytes of %j, and leaves the bytes that follow',
    (text) => {
      for (let length = 0; length < text.length; length++)
        expect(read(text.slice(0, length))).toBe('incomplete');
      expect(read(`${text}GET /`)).toEqual({ bytes: text.length, address: '198.51.100.7' });
    },
  );

  it('never fails, whatever it gets', () => {
    const signed = fc
      .uint8Array({ maxLength: 80 })
      .map((bytes) => Buffer.from([...Buffer.from(BINARY.slice(0, 12), 'latin1'), ...bytes]));
    const any = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.oneof(any, signed), (bytes) => {
        const header = readProxyHeader(bytes);
        expect(typeof header === 'string' || header.bytes <= bytes.length).toBe(true);
      }),
    );
  });
});
