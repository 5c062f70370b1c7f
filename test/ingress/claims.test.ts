/**
 * Ownership of hosts, with the controllers of the manager and an embedded API server. There is no admission webhook, so every
 * Ingress is stored as it would be while admission is bypassed.
 */
import { INGRESSES } from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import {
  HOST_CLAIMS,
  type HostClaim,
  INGRESS_CLASS_POLICIES,
  type IngressClassPolicy,
} from '../../packages/tidegate/src/api/index.ts';
import { IngressWorld, ingressObject } from './support.ts';

let world: IngressWorld;
beforeAll(async () => {
  world = await IngressWorld.start();
});
afterEach(async () => {
  await world.clear();
  await world.client.deleteCollection(INGRESS_CLASS_POLICIES);
  await claimsAre();
});
afterAll(async () => {
  await world.stop();
  expect(world.errors).toEqual([]);
});

const claims = async (): Promise<HostClaim[]> => (await world.client.list(HOST_CLAIMS)).items;
/** Waits until these are the claims, sorted: `gold a.example: shop`. */
const claimsAre = (...expected: string[]): Promise<void> =>
  expect
    .poll(
      async () =>
        (await claims()).map(({ spec }) => `${spec.ingressClassName} ${spec.host}: ${spec.namespace}`).sort(),
      { interval: 20 },
    )
    .toEqual(expected);
const policy = (spec: IngressClassPolicy['spec']) => ({
  apiVersion: 'networking.tidegate.io/v1alpha1',
  kind: 'IngressClassPolicy',
  metadata: { name: 'gold' },
  spec,
});
const RIVAL = { namespace: 'rival' };
/** Waits for an event of an Ingress. */
const hasEvent = (ingress: string, reason: string, text: string): Promise<void> =>
  expect
    .poll(async () => (await world.eventsOf('Ingress', ingress)).join('\n'), { interval: 20 })
    .toMatch(new RegExp(`^${reason}: .*${text.replace(/[.*]/g, '\\$&')}`, 'm'));
const setClass = (name: string, namespace: string, className: string): Promise<unknown> =>
  world.client.patch(INGRESSES, { namespace, name }, 'merge', { spec: { ingressClassName: className } });

it('an old Ingress that is moved into a class does not take a host from its owner, also after a restart', async () => {
  await world.makeClass('gold');
  await world.make(ingressObject('old', 'copper', ['a.example'], RIVAL));
  // Creation times have a resolution of one second: the next Ingress must be younger.
  const { metadata } = await world.ingress('old', 'rival');
  await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(metadata.creationTimestamp ?? '') + 1_000);
  await world.make(ingressObject('web', 'gold', ['a.example']));
  await claimsAre('gold a.example: shop');
  const [claim] = await claims();
  await setClass('old', 'rival', 'gold');
  await hasEvent('old', 'HostConflict', 'belongs to namespace shop');
  await world.stopControllers();
  world.startControllers();
  await world.make(ingressObject('more', 'gold', ['b.example']));
  await claimsAre('gold a.example: shop', 'gold b.example: shop');
  expect((await claims()).find(({ metadata }) => metadata.uid === claim?.metadata.uid)?.spec).toEqual(
    claim?.spec,
  );
});

/** Waits until the claim of a host is reserved, or not. Returns the time. */
const reservation = async (host: string, isReserved: boolean): Promise<string | undefined> => {
  const claim = async () => (await claims()).find(({ spec }) => spec.host === host);
  await expect
    .poll(async () => (await claim())?.spec.reservedUntil !== undefined, { interval: 20 })
    .toBe(isReserved);
  return (await claim())?.spec.reservedUntil;
};

it.each<[string, () => Promise<unknown>]>([
  ['deleted', () => world.remove(INGRESSES, 'web', 'shop')],
  ['moved to another class by mistake', () => setClass('web', 'shop', 'glod')],
])(
  'a host stays with its namespace while its Ingress is %s, also if another one waits',
  async (_, release) => {
    await world.makeClass('gold');
    await world.make(ingressObject('web', 'gold', ['a.example', '*.b.example']));
    await claimsAre('gold *.b.example: shop', 'gold a.example: shop');
    const before = await claims();
    await world.make(ingressObject('waiting', 'gold', ['a.example', 'x.b.example'], RIVAL));
    await hasEvent('waiting', 'HostConflict', 'belongs to namespace shop');
    await release();
    const until = await reservation('a.example', true);
    expect(Date.parse(`${until}`)).toBeGreaterThan(Date.now() + 23 * 3_600_000);
    await reservation('*.b.example', true);
    await hasEvent('waiting', 'HostConflict', `reserved for namespace shop until ${until}`);
    await world.routersAre();
    await world.stopControllers();
    world.startControllers();
    await world.make(ingressObject('other', 'gold', ['c.example'], RIVAL));
    await claimsAre('gold *.b.example: shop', 'gold a.example: shop', 'gold c.example: rival');
    await world.make(ingressObject('web', 'gold', ['a.example', '*.b.example']));
    expect(await reservation('a.example', false)).toBeUndefined();
    await reservation('*.b.example', false);
    const now = await claims();
    for (const { metadata, spec } of before)
      expect(now.find((each) => each.metadata.uid === metadata.uid)?.spec).toEqual(spec);
    await world.routersAre('gold: *.b.example a.example c.example');
  },
);

it('an administrator ends a reservation by deleting the claim', async () => {
  await world.makeClass('gold');
  await world.make(ingressObject('web', 'gold', ['a.example']));
  await claimsAre('gold a.example: shop');
  await world.make(ingressObject('web', 'gold', ['a.example'], RIVAL));
  await world.remove(INGRESSES, 'web', 'shop');
  await reservation('a.example', true);
  // Otherwise the next router would get another name, while this one is being removed.
  await world.routersAre();
  await world.client.deleteCollection(HOST_CLAIMS);
  await claimsAre('gold a.example: rival');
  await world.routersAre('gold: a.example');
});

it.each(['0s', '1s'])('a host goes to the next namespace after the time of the policy: %s', async (time) => {
  await world.makeClass('gold');
  await world.make(policy({ reserveReleasedHosts: time }));
  await world.make(ingressObject('web', 'gold', ['a.example']));
  await claimsAre('gold a.example: shop');
  await world.make(ingressObject('web', 'gold', ['a.example'], RIVAL));
  await world.remove(INGRESSES, 'web', 'shop');
  await claimsAre('gold a.example: rival');
  expect(await reservation('a.example', false)).toBeUndefined();
  // During the reservation, the router has no hosts and is removed. If that takes longer, the host gets another router.
  await expect
    .poll(() => world.routers(), { interval: 20 })
    .toContainEqual(expect.stringMatching(/^gold(-\d+)?: a\.example$/));
});

it('a wildcard above a public suffix is claimed only if the policy allows it', async () => {
  await world.makeClass('gold');
  await world.make(ingressObject('web', 'gold', ['*.co.uk', '*.a.co.uk']));
  await hasEvent('web', 'HostNotAllowed', 'co.uk is a public suffix');
  await claimsAre('gold *.a.co.uk: shop');
  await world.make(policy({ publicSuffixWildcards: 'Allow' }));
  await claimsAre('gold *.a.co.uk: shop', 'gold *.co.uk: shop');
  await world.client.deleteCollection(INGRESS_CLASS_POLICIES);
  await claimsAre('gold *.a.co.uk: shop');
});

it('a wildcard owns what is below it, except what was claimed before', async () => {
  await world.makeClass('gold');
  await world.make(ingressObject('before', 'gold', ['old.tls.example'], RIVAL));
  await claimsAre('gold old.tls.example: rival');
  await world.make(ingressObject('wild', 'gold', ['*.tls.example']));
  await claimsAre('gold *.tls.example: shop', 'gold old.tls.example: rival');
  await world.make(ingressObject('phish', 'gold', ['phish.tls.example', 'a.b.tls.example'], RIVAL));
  await hasEvent('phish', 'HostConflict', 'is below *.tls.example');
  await world.make(ingressObject('own', 'gold', ['own.tls.example']));
  const shops = ['gold *.tls.example: shop', 'gold old.tls.example: rival', 'gold own.tls.example: shop'];
  await claimsAre(...shops);
  await world.routersAre('gold: *.tls.example old.tls.example own.tls.example');
  await world.make(policy({ hostsBelowWildcards: 'Share' }));
  await claimsAre(
    'gold *.tls.example: shop',
    'gold a.b.tls.example: rival',
    'gold old.tls.example: rival',
    'gold own.tls.example: shop',
    'gold phish.tls.example: rival',
  );
});

it('a policy limits namespaces and hosts of a class, and ends claims that it no longer allows', async () => {
  await world.makeClass('gold');
  await world.make(policy({ allow: [{ namespaces: ['shop'], hosts: ['*.shop.example'] }] }));
  await world.make(
    ingressObject('web', 'gold', ['a.shop.example']),
    ingressObject('other', 'gold', ['a.example']),
    ingressObject('evil', 'gold', ['evil.example'], RIVAL),
  );
  await claimsAre('gold a.shop.example: shop');
  await hasEvent('other', 'HostNotAllowed', 'IngressClassPolicy gold allows *.shop.example');
  await hasEvent('evil', 'HostNotAllowed', 'may not use IngressClass gold');
  await world.routersAre('gold: a.shop.example');
  await world.make(policy({ allow: [{ namespaces: ['rival'] }] }));
  await claimsAre('gold evil.example: rival');
  await world.routersAre('gold: evil.example');
});

it('an administrator gives a host to another namespace by changing its claim', async () => {
  await world.makeClass('gold');
  await world.make(ingressObject('web', 'gold', ['a.example']));
  await claimsAre('gold a.example: shop');
  await world.make(ingressObject('web', 'gold', ['a.example'], RIVAL));
  const [claim] = await claims();
  await world.client.patch(HOST_CLAIMS, { name: `${claim?.metadata.name}` }, 'merge', {
    spec: { namespace: 'rival' },
  });
  await hasEvent('web', 'HostConflict', 'belongs to namespace rival');
  await claimsAre('gold a.example: rival');
});

it('classes that share an address share their hosts', async () => {
  await world.makeClass('gold', { sharedAddress: 'front' });
  await world.makeClass('silver', { sharedAddress: 'front' });
  await world.make(ingressObject('web', 'gold', ['a.example']));
  await claimsAre('gold a.example: shop');
  await world.make(ingressObject('web', 'silver', ['a.example', 'b.example'], RIVAL));
  await claimsAre('gold a.example: shop', 'silver b.example: rival');
  await hasEvent('web', 'HostConflict', 'belongs to namespace shop');
});
