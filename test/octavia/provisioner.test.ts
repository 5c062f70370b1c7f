import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Octavia, type Session } from '../../packages/tidegate/src/dataplane/octavia/openstack/index.ts';
import { host, route, upstream } from '../dataplane/support/words.ts';
import { OctaviaServer } from './support/octavia.ts';
import {
  context,
  never,
  openCloud,
  PROJECT,
  provisioner,
  ready,
  removed,
  router,
  SUBNET,
  session,
  snapshot,
} from './support/routers.ts';

let server: OctaviaServer;
let calls: Session;
let octavia: Octavia;

beforeAll(async () => {
  server = await OctaviaServer.start({ worker: 'octavia' });
  calls = session(openCloud(server.url));
  octavia = new Octavia(calls);
});
afterAll(async () => {
  await calls?.close();
  await server?.stop();
});

const loadBalancersOf = async (name: string) =>
  (await octavia.list('loadbalancers', { name })).filter(
    ({ provisioning_status: status }) => status !== 'DELETED',
  );

describe('a router on Octavia', () => {
  const gold = router('gold');
  const shop = [
    host('www.example.com', [route('/', 'shop_s1_80'), route('/cart', 'shop_s2_80')]),
    host('*.example.com', 'shop_s1_80'),
  ];
  const upstreams = [
    upstream('shop_s1_80', [8080], { service: 's1' }),
    upstream('shop_s2_80', [8081], { service: 's2' }),
  ];

  test('gets a load balancer, whose facts are reported', async () => {
    const ensured = await ready(provisioner(server, calls), gold);
    const [found] = await loadBalancersOf('gold');
    expect(ensured).toMatchObject({
      ready: true,
      addresses: [{ ip: found?.vip_address }],
      loadBalancer: {
        id: found?.id,
        name: 'gold',
        ip: found?.vip_address,
        portID: found?.vip_port_id,
        projectID: PROJECT,
        subnetID: SUBNET,
      },
    });
  });

  test('reports settings of the class that Octavia cannot change', async () => {
    const subnetId = '1b2c3d4e-0000-4000-8000-000000000001';
    const changed = router('gold', { subnetId, provider: 'octavia' });
    expect(await ready(provisioner(server, calls), changed)).toMatchObject({
      reason: 'SettingsNotInEffect',
      message: expect.stringContaining(`load balancer: subnetId is ${SUBNET}, not ${subnetId}. Set`),
    });
  });

  test('is programmed with the calls of the plan, and needs none when nothing changes', async () => {
    const own = provisioner(server, calls);
    expect((await own.reconcile(gold, snapshot(shop, upstreams), never)).failed).toEqual(new Map());
    expect((await provisioner(server, calls).preview(gold, snapshot(shop, upstreams), never)).steps).toEqual(
      [],
    );
    const before = calls.calls;
    await own.reconcile(gold, snapshot(shop, upstreams), never);
    expect(calls.calls - before).toBe(0);
    const pools = await octavia.list('pools', { project_id: PROJECT });
    expect(pools.map(({ name }) => name).sort()).toEqual(['shop_s1', 'shop_s2', 'tidegate_not-found']);
  });

  test('is deleted with everything that belongs to it', async () => {
    await removed(provisioner(server, calls), gold);
    expect(await loadBalancersOf('gold')).toEqual([]);
    expect(await octavia.list('pools', { project_id: PROJECT })).toEqual([]);
    expect(await provisioner(server, calls).remove(gold, context, never)).toEqual({ gone: true });
  });
});
