import { expect, it } from 'vitest';
import { ingress } from '../../ingress/testing/objects.ts';
import { excessOf, sizeOf } from './ingress-size.ts';

const withAliases = (...aliases: string[]) =>
  ingress({
    rules: { 'a.io/': 'web:80' },
    annotations: { 'nginx.ingress.kubernetes.io/server-alias': aliases.join(', ') },
  });

it('counts aliases like hosts, and those with many labels several times', () => {
  expect(sizeOf(ingress({ rules: { 'a.io/': 'web:80' } }))).toEqual({ hosts: 1, entries: 2 });
  expect(sizeOf(withAliases('a.io', 'b.io'))).toEqual({ hosts: 2, entries: 2 });
  expect(sizeOf(withAliases('a.b.c.d.e.f.g.h.i'))).toEqual({ hosts: 3, entries: 2 });
  const many = Array.from({ length: 1_001 }, (_, at) => `h${at}.io`);
  expect(excessOf(sizeOf(withAliases(...many)))).toBe('the Ingress has 1002 hosts, the limit is 1000');
});
