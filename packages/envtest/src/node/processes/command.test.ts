import { expect, test } from 'vitest';
import { fillIn, firstTcpPort, portAdvice } from './command.ts';

const placeholders = {
  root: '/r',
  podIP: '127.64.1.2',
  nodeIP: '127.64.0.1',
  pod: 'web',
  namespace: 'shop',
  node: 'node-a',
  port: '8080',
};

test.each([
  ['{podIP}:{port}', '127.64.1.2:8080'],
  ['{root}/etc', '/r/etc'],
  ['{namespace}/{pod}@{node}', 'shop/web@node-a'],
  ['function(){ return {toString} } {}', 'function(){ return {toString} } {}'],
])('%s becomes %s', (text, expected) => {
  expect(fillIn(text, placeholders)).toBe(expected);
});

test('finds ports by protocol, and explains low ones', () => {
  const container = {
    name: 'web',
    ports: [{ containerPort: 53, protocol: 'UDP' }, { containerPort: 80 }],
  };
  expect(firstTcpPort(container)).toBe(80);
  expect(portAdvice(container)).toContain('ip_unprivileged_port_start=53');
  expect(portAdvice({ name: 'web' })).toContain('a port below 1024');
});
