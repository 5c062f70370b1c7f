import { describe, expect, test } from 'vitest';
import { requestHost, wildcardOf, wildcardsAbove, writtenHost } from './host.ts';

describe('requestHost', () => {
  test.each([
    ['a.example.com', 'a.example.com'],
    ['A.Example.COM', 'a.example.com'],
    ['a.example.com:8080', 'a.example.com'],
    ['a.example.com:', 'a.example.com'],
    ['a.example.com.', 'a.example.com'],
    ['a.example.com.:443', 'a.example.com'],
    ['my_host.example.com', 'my_host.example.com'],
    ['10.0.0.1:80', '10.0.0.1'],
    ['[::1]:80', '[::1]'],
    ['[2001:DB8::1]', '[2001:db8::1]'],
    ['', ''],
    [undefined, ''],
  ])('reads %s as %s', (header, host) => expect(requestHost(header)).toBe(host));

  test.each([
    '.',
    'a..b',
    'a.b..',
    '.a',
    'a b',
    'a/b',
    'a:80:80',
    'a:http',
    'a:123456',
    'user@a',
    '*.a',
    '[::1',
    '[a]b',
    'a\n.b',
    'a%2eb',
    'ä.de',
    'x'.repeat(64),
    `${'x.'.repeat(127)}xx`,
  ])('rejects %j', (header) => expect(requestHost(header)).toBeUndefined());
});

test('wildcardOf returns the wildcard that covers one label', () => {
  expect(wildcardOf('a.b.c')).toBe('*.b.c');
  expect(wildcardOf('a')).toBeUndefined();
  expect(wildcardOf('')).toBeUndefined();
  expect(wildcardOf('[::ffff:1.2.3.4]')).toBeUndefined();
});

test('wildcardsAbove returns all wildcards that a host is below', () => {
  expect(wildcardsAbove('a.b.c')).toEqual(['*.b.c', '*.c']);
  expect(wildcardsAbove('*.b.c')).toEqual(['*.c']);
  expect(wildcardsAbove('a')).toEqual([]);
  expect(wildcardsAbove('')).toEqual([]);
});

describe('writtenHost', () => {
  test.each([
    ['', ''],
    ['Shop.Example.com', 'shop.example.com'],
    ['shop.example.com.', 'shop.example.com'],
    ['*.example.com', '*.example.com'],
    ['localhost', 'localhost'],
  ])('reads %j as %j', (written, host) => expect(writtenHost(written)).toBe(host));

  test.each([
    '10.0.0.1',
    '*',
    '*.',
    'a.*.b',
    '*a.b',
    'a_b.c',
    '-a.b',
    'a-.b',
    'a:80',
    'a b',
    'a;b',
    'a\n',
    '::1',
    '~^.*$',
  ])('rejects %j', (written) => expect(writtenHost(written)).toBeUndefined());
});
