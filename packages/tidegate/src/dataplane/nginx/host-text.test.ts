import { expect, it } from 'vitest';
import type { Route } from '../../ingress/model.ts';
import { hostText } from './host-text.ts';

const networks = Array.from({ length: 1_000 }, (_, at) => ({ octets: [10, at >> 8, at & 255, 0], bits: 24 }));

const route = (path: string): Route => ({
  path,
  match: 'Prefix',
  headers: [],
  action: {
    backends: [],
    limits: {},
    policy: { sources: { allow: networks, deny: [] }, rewrite: { to: [path] } as never },
    source: { kind: 'Ingress', namespace: 'n', name: 'i', rule: 0, path: 0 },
  },
});

it('contains the lists of an Ingress once, however many paths it has', () => {
  const sizeOf = (paths: number): number =>
    hostText({
      host: 'a.io',
      namespace: 'n',
      routes: Array.from({ length: paths }, (_, at) => route(`/${at}`)),
    }).length;
  const list = JSON.stringify(networks).length;
  expect(sizeOf(100)).toBeLessThan(3 * list);
  expect(sizeOf(1)).toBeGreaterThan(list);
});
