import { expect, it } from 'vitest';
import { parseProxyName } from './proxy-name.ts';

it.each([
  ['n1', { scheme: '', name: 'n1', port: '' }],
  ['n1:10250', { scheme: '', name: 'n1', port: '10250' }],
  ['n1:', { scheme: '', name: 'n1', port: '' }],
  ['https:n1:10250', { scheme: 'https', name: 'n1', port: '10250' }],
  ['https:n1:', { scheme: 'https', name: 'n1', port: '' }],
])('reads %s', (text, parts) => {
  expect(parseProxyName(text, 'node')).toEqual(parts);
});

it.each(['', ':80', 'ftp:n1:21', 'a:b:c:d'])('rejects %s', (text) => {
  expect(() => parseProxyName(text, 'node')).toThrow(`invalid node request ${JSON.stringify(text)}`);
});
