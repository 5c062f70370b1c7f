import { expect, test } from 'vitest';
import { headerOf } from './flat-headers.ts';
import { responseHeaders, toFlat, toObject } from './headers.ts';

test('drops headers that belong to the connection', () => {
  const raw = [
    ...[
      'Connection',
      'Keep-Alive, X-Mine',
      'Keep-Alive',
      'timeout=5',
      'x-mine',
      '1',
      'Transfer-Encoding',
      'chunked',
    ],
    ...['Server', 'secret/1', 'Content-Type', 'a/b', 'Trailer', 'X-End'],
  ];
  expect(responseHeaders(raw)).toEqual(['Server', 'tidegate', 'Content-Type', 'a/b']);
});

test('forwards bytes unchanged', () => {
  const value = Buffer.from([0x63, 0xe9, 0xff]);
  const [, read] = toFlat([Buffer.from('X-Latin'), value]);
  expect(Buffer.from(read!, 'latin1')).toEqual(value);
  expect(toFlat(undefined)).toEqual([]);
});

test('sends each name once over HTTP/2', () => {
  const flat = [
    'Set-Cookie',
    'a',
    'set-cookie',
    'b',
    'SET-COOKIE',
    'c',
    'ETag',
    '1',
    'etag',
    '2',
    '__proto__',
    'x',
  ];
  const object = toObject(flat);
  expect(Object.entries(object)).toEqual([
    ['set-cookie', ['a', 'b', 'c']],
    ['etag', '1'],
    ['__proto__', 'x'],
  ]);
});

test('joins the values of a repeated header into one list', () => {
  expect(headerOf(['Connection', 'a', 'connection', 'b'], 'connection')).toBe('a, b');
  expect(headerOf([], 'connection')).toBeUndefined();
});
