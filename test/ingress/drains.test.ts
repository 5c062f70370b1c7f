/** Tests what old routers do until clients have followed to new ones, with an embedded API server. */
import { INGRESSES, type KubeObject } from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  INGRESS_CLASS_POLICIES,
  L7_ROUTERS,
  type L7RouterStatus,
} from '../../packages/tidegate/src/api/index.ts';
import { eventually } from '../support/patience.ts';
import { IngressWorld, ingressObject, parametersObject } from './support.ts';

let world: IngressWorld;
beforeAll(async () => {
  world = await IngressWorld.start();
});
afterEach(() => world.clear());
afterAll(async () => {
  await world.stop();
  expect(world.errors).toEqual([]);
});

const drainingOf = async (router: string): Promise<L7RouterStatus['draining']> =>
  (await world.router(router))?.status?.draining;
const departingOf = async (router: string): Promise<string[]> =>
  (await world.router(router))?.spec.departing ?? [];
/** Runs a pod of the router, and waits until its address is in the status of the Ingress. */
async function serve(router: string, ingress: string): Promise<string> {
  await world.run(router);
  const address = async () => (await world.router(router))?.status?.addresses?.[0]?.ip;
  await eventually(async () => {
    // An agent reports every generation.
    await world.serve(router);
    const wanted = await address();
    return wanted !== undefined && (await world.addressesOf(ingress)).join() === wanted;
  });
  return `${await address()}`;
}

describe('a drain time', () => {
  it('goes on after a restart of the manager', async () => {
    await world.makeClass('gold', { maxHosts: '2', drainTime: '1h' });
    await world.make(ingressObject('a', 'gold', ['a.example']), ingressObject('b', 'gold', ['b.example']));
    await world.routersAre('gold: a.example b.example');
    await world.make(parametersObject('gold', { maxHosts: '1', drainTime: '1h' }));
    await world.routersAre('gold-2: b.example', 'gold: a.example (b.example)');
    expect(await drainingOf('gold')).toBeUndefined();
    await serve('gold-2', 'b');
    await expect
      .poll(() => drainingOf('gold'))
      .toEqual([{ since: expect.any(String), hosts: ['b.example'] }]);
    const before = await drainingOf('gold');
    await world.stopControllers();
    world.startControllers();
    await world.make(ingressObject('c', 'gold', ['c.example']));
    await world.routersAre('gold-2: b.example', 'gold-3: c.example', 'gold: a.example (b.example)');
    expect(await drainingOf('gold')).toEqual(before);
    await world.make(parametersObject('gold', { maxHosts: '1', drainTime: '0s' }));
    await world.routersAre('gold-2: b.example', 'gold-3: c.example', 'gold: a.example');
    await expect.poll(() => drainingOf('gold')).toBeUndefined();
  });

  it('of a router that no class needs any more goes on after a restart of the manager', async () => {
    await world.makeClass('gold', { sharedAddress: 'front', drainTime: '1h' });
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await world.routersAre('front: a.example');
    const old = await serve('front', 'a');
    await world.make(parametersObject('gold', { drainTime: '1h' }));
    await world.routersAre('front: a.example', 'gold: a.example');
    expect(await world.addressesOf('a')).toEqual([old]);
    // Only the new address, although the old router still serves the host.
    expect(await serve('gold', 'a')).not.toBe(old);
    await expect.poll(() => drainingOf('front')).toEqual([{ since: expect.any(String), all: true }]);
    const before = await drainingOf('front');
    await world.stopControllers();
    world.startControllers();
    await world.make(ingressObject('b', 'gold', ['b.example']));
    await world.routersAre('front: a.example', 'gold: a.example b.example');
    expect(await drainingOf('front')).toEqual(before);
    await serve('gold', 'b');
    await world.make(parametersObject('gold', { drainTime: '0s' }));
    await world.routersAre('gold: a.example b.example');
  });
});

it('a router that is deleted ends if a user has made one for all hosts of the class', async () => {
  await world.makeClass('gold', { drainTime: '1h' });
  await world.make(ingressObject('a', 'gold', ['a.example']));
  await world.routersAre('gold: a.example');
  await world.make({
    apiVersion: 'networking.tidegate.io/v1alpha1',
    kind: 'L7Router',
    metadata: { name: 'own' },
    spec: { ingressClassName: 'gold', driver: 'embedded' },
  } as KubeObject);
  await world.remove(L7_ROUTERS, 'gold');
  await world.routersAre('own: all');
});

it('a class that leaves the address of others is served there until the drain time is over', async () => {
  await world.makeClass('gold', { sharedAddress: 'front', drainTime: '1h' });
  await world.makeClass('silver', { sharedAddress: 'front', drainTime: '1h' });
  await world.make(ingressObject('a', 'gold', ['a.example']), ingressObject('b', 'silver', ['b.example']));
  await world.routersAre('front: a.example b.example');
  const old = await serve('front', 'b');
  await world.make(parametersObject('silver', {}));
  await world.routersAre('front: a.example b.example', 'silver: b.example');
  await expect.poll(() => departingOf('front')).toEqual(['shop/b']);
  const left = (await world.router('front'))?.spec;
  expect(left?.sharedWith).toBeUndefined();
  expect(left?.departedClasses).toEqual([{ ingressClassName: 'silver', since: expect.any(String) }]);
  expect(await world.addressesOf('b')).toEqual([old]);
  expect(await serve('silver', 'b')).not.toBe(old);
  await expect
    .poll(() => drainingOf('front'))
    .toEqual([{ since: expect.any(String), ingresses: ['shop/b'] }]);
  await world.make(parametersObject('gold', { sharedAddress: 'front', drainTime: '0s' }));
  await world.routersAre('front: a.example', 'silver: b.example');
});

describe('an Ingress that changes its class', () => {
  it('stays on its old router until the new one serves it and the drain time is over', async () => {
    await world.makeClass('gold', { drainTime: '1h' });
    await world.makeClass('silver');
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await world.routersAre('gold: a.example');
    const old = await serve('gold', 'a');
    await world.make(ingressObject('a', 'silver', ['a.example']));
    await world.routersAre('gold: a.example', 'silver: a.example');
    await expect.poll(() => departingOf('gold')).toEqual(['shop/a']);
    expect(await world.addressesOf('a')).toEqual([old]);
    expect(await serve('silver', 'a')).not.toBe(old);
    await expect
      .poll(() => drainingOf('gold'))
      .toEqual([{ since: expect.any(String), ingresses: ['shop/a'] }]);
    const before = await drainingOf('gold');
    await world.stopControllers();
    world.startControllers();
    await world.make(ingressObject('b', 'silver', ['b.example']));
    await world.routersAre('gold: a.example', 'silver: a.example b.example');
    expect(await drainingOf('gold')).toEqual(before);
    await world.make(parametersObject('gold', { drainTime: '0s' }));
    await world.routersAre('silver: a.example b.example');
  });

  it('while the manager does not run stays on its old router', async () => {
    await world.makeClass('gold', { drainTime: '1h' });
    await world.makeClass('silver');
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await world.routersAre('gold: a.example');
    const old = await serve('gold', 'a');
    await world.stopControllers();
    await world.make(ingressObject('a', 'silver', ['a.example']));
    world.startControllers();
    await world.routersAre('gold: a.example', 'silver: a.example');
    await expect.poll(() => departingOf('gold')).toEqual(['shop/a']);
    expect(await world.addressesOf('a')).toEqual([old]);
    expect(await serve('silver', 'a')).not.toBe(old);
    await expect
      .poll(() => drainingOf('gold'))
      .toEqual([{ since: expect.any(String), ingresses: ['shop/a'] }]);
    await world.make(parametersObject('gold', { drainTime: '0s' }));
    await world.routersAre('silver: a.example');
  });

  it('because its class leaves the address of others while the manager does not run, is served there', async () => {
    await world.makeClass('gold', { sharedAddress: 'front', drainTime: '1h' });
    await world.makeClass('silver', { sharedAddress: 'front', drainTime: '1h' });
    await world.make(ingressObject('a', 'gold', ['a.example']), ingressObject('b', 'silver', ['b.example']));
    await world.routersAre('front: a.example b.example');
    const old = await serve('front', 'b');
    await world.stopControllers();
    await world.make(parametersObject('silver', {}));
    world.startControllers();
    await world.routersAre('front: a.example b.example', 'silver: b.example');
    await expect.poll(() => departingOf('front')).toEqual(['shop/b']);
    expect((await world.router('front'))?.spec.departedClasses).toEqual([
      { ingressClassName: 'silver', since: expect.any(String) },
    ]);
    expect(await world.addressesOf('b')).toEqual([old]);
    expect(await serve('silver', 'b')).not.toBe(old);
  });

  it('and changes back is served as before', async () => {
    await world.makeClass('gold', { drainTime: '1h' });
    await world.makeClass('silver', { drainTime: '0s' });
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await world.routersAre('gold: a.example');
    const old = await serve('gold', 'a');
    await world.make(ingressObject('a', 'silver', ['a.example']));
    await expect.poll(() => departingOf('gold')).toEqual(['shop/a']);
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await expect.poll(() => departingOf('gold')).toEqual([]);
    expect(await serve('gold', 'a')).toBe(old);
    await world.routersAre('gold: a.example');
  });

  it('to one of another controller is served for the drain time, and not after its deletion', async () => {
    await world.makeClass('gold', { drainTime: '1h' });
    await world.makeClass('other', undefined, 'example.com/other');
    await world.make(ingressObject('a', 'gold', ['a.example']));
    await world.routersAre('gold: a.example');
    await world.make(ingressObject('a', 'other', ['a.example']));
    await expect
      .poll(() => drainingOf('gold'))
      .toEqual([{ since: expect.any(String), ingresses: ['shop/a'] }]);
    expect(await world.addressesOf('a')).toEqual([]);
    await world.remove(INGRESSES, 'a', 'shop');
    await world.routersAre();
  });

  it('keeps only the hosts that its namespace has in the old class', async () => {
    await world.make({
      apiVersion: 'networking.tidegate.io/v1alpha1',
      kind: 'IngressClassPolicy',
      metadata: { name: 'gold' },
      spec: { allow: [{ namespaces: ['shop'] }, { namespaces: ['rival'], hosts: ['t.example'] }] },
    });
    await world.makeClass('gold', { drainTime: '1h' });
    await world.makeClass('silver');
    const rival = (className: string, hosts: string[]) =>
      ingressObject('t', className, hosts, { namespace: 'rival' });
    await world.make(ingressObject('bank', 'gold', ['*.bank.example']), rival('gold', ['t.example']));
    await world.routersAre('gold: *.bank.example t.example');
    const hosts = ['never.example', 'phish.bank.example', 't.example'];
    await world.make(rival('silver', hosts));
    await world.routersAre('gold: *.bank.example t.example', `silver: ${hosts.join(' ')}`);
    await expect.poll(() => departingOf('gold')).toEqual(['rival/t']);
    // The old class serves what the Ingress names now, not what it named before.
    await world.make(rival('silver', ['never.example', 'phish.bank.example']));
    await world.routersAre('gold: *.bank.example', 'silver: never.example phish.bank.example');
    await expect.poll(() => departingOf('gold')).toEqual([]);
    await world.remove(INGRESS_CLASS_POLICIES, 'gold');
  });
});
