import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { OctaviaProvisioner } from '../../packages/tidegate/src/dataplane/octavia/index.ts';
import { Octavia, type Session } from '../../packages/tidegate/src/dataplane/octavia/openstack/index.ts';
import { host, route, upstream } from '../dataplane/support/words.ts';
import { Faults } from './support/faults.ts';
import { OctaviaServer } from './support/octavia.ts';
import {
  context,
  never,
  openCloud,
  provisioner,
  ready,
  removed,
  router,
  session,
  snapshot,
} from './support/routers.ts';

let server: OctaviaServer;
let faults: Faults;
let direct: Session;
let calls: Session;
let octavia: Octavia;

beforeAll(async () => {
  server = await OctaviaServer.start();
  faults = await Faults.start(server.url);
  direct = session(openCloud(server.url));
  calls = session(openCloud(faults.url));
  octavia = new Octavia(direct);
});
afterEach(() => {
  faults.fate = () => 'forward';
});
afterAll(async () => {
  await direct?.close();
  await calls?.close();
  await faults?.stop();
  await server?.stop();
});

const idOf = async (name: string): Promise<string> =>
  `${(await octavia.list('loadbalancers', { name }))[0]?.id}`;
const statusOf = async (id: string) => (await octavia.list('loadbalancers', { id }))[0]?.provisioning_status;
/** A manager that has just started. */
const manager = (): OctaviaProvisioner => provisioner(server, calls);

/** A router with a load balancer that ends with the test. */
async function started(name: string) {
  const object = router(name);
  onTestFinished(async () => {
    faults.fate = () => 'forward';
    await removed(manager(), object);
  });
  return { object, ensured: await ready(manager(), object) };
}

const ONE = snapshot(
  [host('a.example.com', [route('/', 'shop_s1_80'), route('/cart', 'shop_s2_80')])],
  [upstream('shop_s1_80', [8080], { service: 's1' }), upstream('shop_s2_80', [8081], { service: 's2' })],
);
const TWO = snapshot(
  [host('a.example.com', [route('/', 'shop_s2_80'), route('/help', 'shop_s3_80')])],
  [
    upstream('shop_s2_80', [8081, 8082], { service: 's2' }),
    upstream('shop_s3_80', [8083], { service: 's3' }),
  ],
);

describe('a manager on Octavia', () => {
  test.each(['refuse', 'loseAnswer'] as const)(
    'continues after it was killed at any call (%s)',
    async (kind) => {
      const { object } = await started(`killed-${kind.toLowerCase()}`);
      let kills = 0;
      for (const wanted of [ONE, TWO]) {
        for (;;) {
          let isFirst = true;
          faults.fate = () => {
            // The first write of each life succeeds, the second is the end: every call is once the last one.
            const fate = isFirst ? 'forward' : kind;
            isFirst = false;
            return fate;
          };
          const outcome = await manager()
            .reconcile(object, wanted, never)
            .then(
              () => 'done',
              () => 'killed',
            );
          if (outcome === 'done') break;
          kills++;
        }
        faults.fate = () => 'forward';
        expect((await manager().preview(object, wanted, never)).steps).toEqual([]);
      }
      expect(kills).toBeGreaterThan(8);
    },
  );

  test('gives way to newer routes in a long plan, and then starts with new members', async () => {
    const { object } = await started('long');
    const many = Array.from({ length: 2 }, (_, at) => host(`h${at}.io`, [route('/', 's'), route('/a', 's')]));
    const own = manager();
    const wanted = (port: number) => snapshot(many, [upstream('s', [port])]);
    expect(await own.reconcile(object, wanted(80), never, { isOutdated: () => true })).toMatchObject({
      incomplete: true,
    });
    const before = faults.writes.length;
    expect((await own.reconcile(object, wanted(81), never)).incomplete).toBeUndefined();
    expect(faults.writes[before]).toMatch(/^PUT .*\/members$/);
    expect((await manager().preview(object, wanted(81), never)).steps).toEqual([]);
  });

  test('does not fight with another manager', async () => {
    const { object } = await started('two-managers');
    const both = await Promise.allSettled(
      [ONE, ONE].map((wanted) => manager().reconcile(object, wanted, never)),
    );
    // One of them may have to repeat the call, as its controller does.
    for (const { status } of both) if (status === 'rejected') await manager().reconcile(object, ONE, never);
    await manager().reconcile(object, ONE, never);
    expect((await manager().preview(object, ONE, never)).steps).toEqual([]);
    const pools = await octavia.list('pools', { loadbalancer_id: await idOf('two-managers') });
    expect(pools.map(({ name }) => name).sort()).toEqual(['shop_s1', 'shop_s2', 'tidegate_not-found']);
  });

  test('does not touch a load balancer of another cluster with the same name', async () => {
    const { object, ensured } = await started('same-name');
    const other = provisioner(server, calls, 'other-cluster');
    const second = await ready(other, object);
    expect(second.loadBalancer?.id).not.toBe(ensured.loadBalancer?.id);
    await removed(other, object);
    expect(await statusOf(`${ensured.loadBalancer?.id}`)).toBe('ACTIVE');
  });

  test('repairs what another program has changed', async () => {
    const { object } = await started('drift');
    await manager().reconcile(object, ONE, never);
    const [listener] = await octavia.list('listeners', { loadbalancer_id: await idOf('drift') });
    const [first, last] = (await octavia.list('l7policies', { listener_id: `${listener?.id}` })).sort(
      (a, b) => Number(a.position) - Number(b.position),
    );
    await octavia.update('l7policies', `${last?.id}`, { position: 1 });
    await expect.poll(async () => statusOf(await idOf('drift'))).toBe('ACTIVE');
    await octavia.delete('l7policies', `${first?.id}`);
    await expect.poll(async () => statusOf(await idOf('drift'))).toBe('ACTIVE');
    await manager().reconcile(object, ONE, never);
    expect((await manager().preview(object, ONE, never)).steps).toEqual([]);
  });

  test('replaces the machines of a load balancer in ERROR, and then creates it again with its address', async () => {
    const { object, ensured } = await started('broken');
    const own = manager();
    await own.reconcile(object, ONE, never);
    const { id = '', ip } = ensured.loadBalancer ?? {};
    const status = { loadBalancer: { ...ensured.loadBalancer }, addresses: [...ensured.addresses] };
    const known = { ...object, status };
    const fail = () => server.sql(`update load_balancer set provisioning_status='ERROR' where id='${id}'`);
    await fail();
    expect(await own.ensure(known, context, never)).toMatchObject({
      ready: false,
      reason: 'LoadBalancerError',
    });
    expect(faults.writes.at(-1)).toBe(`PUT /v2/lbaas/loadbalancers/${id}/failover`);
    await expect.poll(() => statusOf(id)).toMatch(/^(ACTIVE|ERROR)$/);
    await fail();
    await own.ensure(known, context, never);
    const again = await ready(own, known);
    expect(again.loadBalancer?.id).not.toBe(id);
    expect(again.loadBalancer?.ip).toBe(ip);
    expect(again.addresses).toEqual(ensured.addresses);
    await own.reconcile(known, ONE, never);
    expect((await manager().preview(known, ONE, never)).steps).toEqual([]);
  });

  test('creates a load balancer that another program has deleted again, with its address and its routes', async () => {
    const { object, ensured } = await started('deleted');
    const own = manager();
    await own.reconcile(object, ONE, never);
    const { id = '', ip } = ensured.loadBalancer ?? {};
    const status = { loadBalancer: { ...ensured.loadBalancer }, addresses: [...ensured.addresses] };
    const known = { ...object, status };
    await octavia.delete('loadbalancers', id, { cascade: 'true' });
    await expect.poll(() => octavia.list('loadbalancers', { name: 'deleted' })).toEqual([]);
    const again = await ready(own, known);
    expect(again.loadBalancer?.id).not.toBe(id);
    expect(again.loadBalancer?.ip).toBe(ip);
    await own.reconcile(known, ONE, never);
    expect((await manager().preview(known, ONE, never)).steps).toEqual([]);
  });

  test('does not delete a load balancer that another manager has repaired', async () => {
    const { object, ensured } = await started('repaired');
    const { id = '' } = ensured.loadBalancer ?? {};
    await server.sql(`update load_balancer set provisioning_status='ERROR' where id='${id}'`);
    faults.before = async (method, path) => {
      // The other manager replaces the machines between the look of this one and its call.
      if (method === 'PUT' && path.endsWith('/failover')) await octavia.failover(id);
    };
    onTestFinished(() => {
      faults.before = async () => {};
    });
    await server.hold();
    onTestFinished(() => server.release());
    const before = faults.writes.length;
    expect(await manager().ensure(object, context, never)).toMatchObject({ ready: false });
    await server.release();
    expect(faults.writes.slice(before).filter((write) => write.startsWith('DELETE'))).toEqual([]);
    expect((await ready(manager(), object)).loadBalancer?.id).toBe(id);
  });

  test('waits before it creates a load balancer again that has ended in ERROR twice', async () => {
    const object = router('hopeless');
    const own = provisioner(server, calls, 'test', {}, { ...systemClock, monotonic: () => 1_000_000 });
    onTestFinished(async () => {
      await server.release();
      await removed(manager(), object);
    });
    const ensure = () => own.ensure(object, context, never);
    const fail = async () =>
      server.sql(`update load_balancer set provisioning_status='ERROR' where id='${await idOf('hopeless')}'`);
    for (const attempt of [1, 2]) {
      await server.hold();
      expect(await ensure(), `attempt ${attempt}`).toMatchObject({ reason: 'LoadBalancerPending' });
      await fail();
      await ensure(); // Replaces its machines.
      await fail();
      await ensure(); // Deletes it.
      await server.release();
      await expect.poll(() => octavia.list('loadbalancers', { name: 'hopeless' })).toEqual([]);
    }
    expect(await ensure()).toMatchObject({
      ready: false,
      reason: 'LoadBalancerError',
      message: expect.stringContaining('The next attempt is in 5 seconds'),
      againAfterMs: 5_000,
    });
  });

  test('waits while the load balancer is changing', async () => {
    const { object } = await started('busy');
    const before = faults.writes.length;
    await server.hold();
    const done = manager().reconcile(object, ONE, never);
    await expect.poll(() => faults.writes.length).toBe(before + 1);
    // Another program changes the load balancer too.
    await server.sql(
      `update load_balancer set provisioning_status='PENDING_UPDATE' where id='${await idOf('busy')}'`,
    );
    await server.release();
    await done;
    expect((await manager().preview(object, ONE, never)).steps).toEqual([]);
  });

  test('finds and deletes the load balancers of routers that do not exist', async () => {
    const object = router('orphan');
    await ready(manager(), object);
    const own = manager();
    expect([...(await own.routers(never))]).toContain('orphan');
    await own.forget('orphan', never);
    expect([...(await own.routers(never))]).not.toContain('orphan');
    expect(await octavia.list('loadbalancers', { name: 'orphan' })).toEqual([]);
  });

  test('finds and deletes certificates whose load balancer was deleted before the manager stopped', async () => {
    const file = join(server.certificates, 'tidegate_test_gone_default.crt');
    await writeFile(file, 'certificate');
    expect([...(await manager().routers(never))]).toContain('gone');
    await manager().forget('gone', never);
    expect(await readdir(server.certificates)).not.toContain('tidegate_test_gone_default.crt');
  });
});
