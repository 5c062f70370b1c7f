import { silentLogger } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { expect, it } from 'vitest';
import { isForeignAddress } from '../ingress/foreign-address.ts';
import type { Delta, Upstream } from '../ingress/model.ts';
import { ExternalNames } from './external-names.ts';

const upstream = (address: string): Upstream => ({
  id: 'shop_far_80',
  namespace: 'shop',
  service: 'far',
  protocol: 'http',
  balance: 'roundRobin',
  endpoints: [{ address, port: 80 }],
});
const delta = (set: Upstream[], remove: string[] = []): Delta => ({
  from: 0,
  to: 1,
  hosts: { set: [], remove: [] },
  upstreams: { set, remove },
  certificates: { set: [], remove: [] },
});

it('resolves a name regularly, as long as an upstream has it', async () => {
  const clock = new VirtualClock();
  let answer: string[] | Error = ['192.0.2.1'];
  let asked = 0;
  let changes = 0;
  const names = new ExternalNames({
    resolve: async () => {
      asked++;
      if (answer instanceof Error) throw answer;
      return { addresses: answer, ttlSeconds: 60 };
    },
    onChange: () => changes++,
    clock,
    log: silentLogger,
  });
  const told = () =>
    names.translate(undefined)?.upstreams.set.map((each) => each.endpoints.map((e) => e.address));

  expect(names.translate(delta([upstream('10.0.0.1'), upstream('far.example')]))?.upstreams.set).toEqual([
    upstream('10.0.0.1'),
    { ...upstream('x'), endpoints: [], problem: 'noEndpoints' },
  ]);
  await names.answered();
  expect(changes).toBe(1);
  expect(told()).toEqual([['192.0.2.1']]);
  expect(told()).toBeUndefined();

  await clock.advance(60_000);
  expect([asked, changes]).toEqual([2, 1]);
  answer = new Error('no answer');
  await clock.advance(60_000);
  answer = ['192.0.2.2', '127.0.0.1'];
  await clock.advance(5_000);
  expect([asked, changes]).toEqual([4, 2]);
  expect(told()).toEqual([['192.0.2.2']]);
  expect(names.translateAll(delta([upstream('far.example')])).upstreams.set).toEqual([upstream('192.0.2.2')]);

  answer = ['127.0.0.1'];
  await clock.advance(60_000);
  expect(names.translate(undefined)?.upstreams.set).toEqual([
    { ...upstream('x'), endpoints: [], problem: 'notSupported' },
  ]);
  names.translate(delta([], ['shop_far_80']));
  expect(clock.pending).toBe(0);
});

it.each([
  ['192.0.2.1', true],
  ['10.0.0.1', true],
  ['2001:db8::1', true],
  ['127.0.0.53', false],
  ['0.0.0.0', false],
  ['169.254.169.254', false],
  ['224.0.0.1', false],
  ['255.255.255.255', false],
  ['::1', false],
  ['::', false],
  ['fe80::1', false],
  ['::ffff:127.0.0.1', false],
  ['::ffff:7f00:1', false],
  ['example.com', false],
])('isForeignAddress returns for %s: %s', (address, foreign) => {
  expect(isForeignAddress(address)).toBe(foreign);
});
