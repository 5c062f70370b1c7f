/** Secrets with users that take more memory than the share of their namespace. */
import { expect, it } from 'vitest';
import { ingress } from '../testing/objects.ts';
import { Compiler } from './compiler.ts';

const PREFIX = 'nginx.ingress.kubernetes.io/';
const HASH = '$2b$04$UsYVBqXnNJgmtc2/iCG0EeIyuwTpX/.1mzszzSa7dVaU2ODFQuo5S';

const usersOf = (namespace: string, name: string, count: number) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace, name },
  data: {
    auth: Buffer.from(
      Array.from({ length: count }, (_, at) => `user-${at}-${'x'.repeat(20)}:${HASH}`).join('\n'),
    ).toString('base64'),
  },
});
const protectedBy = (namespace: string, name: string) =>
  ingress({
    name,
    namespace,
    rules: { [`${name}.${namespace}.io/`]: 'web:80' },
    annotations: { [`${PREFIX}auth-type`]: 'basic', [`${PREFIX}auth-secret`]: name },
  });

it('closes the Ingresses with the largest Secrets of the namespace, and no others', () => {
  const compiler = new Compiler({ classNames: ['gold'], now: () => 0 });
  const put = (namespace: string, name: string, count: number): void => {
    compiler.put('Ingress', protectedBy(namespace, name));
    compiler.put('Secret', usersOf(namespace, name, count));
  };
  put('good', 'a', 100);
  put('evil', 'small', 10);
  compiler.flush();
  for (let at = 0; at < 8; at++) put('evil', `large${at}`, 9_900);
  const { delta, outcomes } = compiler.flush();
  const set = delta?.credentials?.set.map(({ id }) => id) ?? [];
  expect(set.length).toBeGreaterThan(2);
  expect(set.length).toBeLessThan(8);
  expect(compiler.snapshot().credentials?.set.map(({ id }) => id)).toEqual(
    expect.arrayContaining(['good/a', 'evil/small', ...set]),
  );
  const closed = outcomes.set.filter(({ problems }) => problems.some(({ about }) => about === 'users'));
  expect(closed).toHaveLength(8 - set.length);
  expect(closed[0]?.problems.find(({ about }) => about === 'users')?.message).toContain(
    'all Secrets with users of a namespace can have 4000000',
  );
  // Room that another Secret leaves is used.
  const [first = ''] = set;
  compiler.remove('Ingress', first);
  const next = compiler.flush();
  expect(next.delta?.credentials?.remove).toEqual([first]);
  expect(next.delta?.credentials?.set).toHaveLength(1);
});
