import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Octavia, type Session } from '../../packages/tidegate/src/dataplane/octavia/openstack/index.ts';
import { host, route, upstream } from '../dataplane/support/words.ts';
import { OctaviaServer } from './support/octavia.ts';
import {
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
let calls: Session;
let octavia: Octavia;

beforeAll(async () => {
  server = await OctaviaServer.start();
  calls = session(openCloud(server.url));
  octavia = new Octavia(calls);
  await ready(provisioner(server, calls), router('settings'));
});
afterAll(async () => {
  await removed(provisioner(server, calls), router('settings'));
  await calls?.close();
  await server?.stop();
});

const MEMBER_SUBNET = '7a9b2c1d-0000-4000-8000-000000000002';
const OTHER_SUBNET = '7a9b2c1d-0000-4000-8000-000000000003';
const six = {
  ...upstream('shop_s1_80', [8080], { service: 's1' }),
  endpoints: [{ address: '2001:DB8::1', port: 80 }],
};
const WANTED = snapshot([host('a.io', [route('/', 'shop_s1_80')])], [six]);

/** Programs the router with the parameters, and checks that a restarted manager has nothing to change. */
async function program(parameters: Record<string, string>): Promise<void> {
  const object = router('settings', parameters);
  await provisioner(server, calls).reconcile(object, WANTED, never);
  expect((await provisioner(server, calls).preview(object, WANTED, never)).steps).toEqual([]);
}

const only = async (kind: 'listeners' | 'healthmonitors') => {
  const found = await octavia.list(kind);
  expect(found).toHaveLength(1);
  return found[0];
};

describe('parameters of a class on Octavia', () => {
  test('become settings of the listener, the members and a health monitor', async () => {
    await program({
      ...{ healthMonitor: 'http', healthMonitorPath: '/healthz', memberSubnetId: MEMBER_SUBNET },
      ...{ connectTimeout: '2s', readTimeout: '1m', allowedCidrs: '192.0.2.0/24, 10.0.0.0/8' },
    });
    expect(await only('listeners')).toMatchObject({
      ...{ timeout_member_connect: 2_000, timeout_member_data: 60_000, timeout_client_data: 60_000 },
      allowed_cidrs: expect.arrayContaining(['10.0.0.0/8', '192.0.2.0/24']),
    });
    const monitors = await octavia.list('healthmonitors');
    expect(monitors).toHaveLength(1);
    expect(monitors[0]).toMatchObject({ type: 'HTTP', url_path: '/healthz', http_method: 'GET' });
    const [pool] = await octavia.list('pools', { name: 'shop_s1' });
    expect(await octavia.members(`${pool?.id}`)).toMatchObject([
      { address: '2001:db8::1', protocol_port: 80, subnet_id: MEMBER_SUBNET },
    ]);
  });

  test('can name another subnet for the members, which the policies use when it is complete', async () => {
    const parameters = { memberSubnetId: OTHER_SUBNET };
    const { steps } = await provisioner(server, calls).preview(router('settings', parameters), WANTED, never);
    const kinds = steps.map(({ kind }) => kind);
    expect(kinds.indexOf('setMembers')).toBeLessThan(kinds.indexOf('updatePolicy'));
    expect(kinds.indexOf('updatePolicy')).toBeLessThan(kinds.indexOf('deleteBackend'));
    await program(parameters);
    const pools = await octavia.list('pools', { name: 'shop_s1' });
    expect(pools).toHaveLength(1);
    expect(await octavia.members(`${pools[0]?.id}`)).toMatchObject([
      { address: '2001:db8::1', protocol_port: 80, subnet_id: OTHER_SUBNET },
    ]);
  });

  test('can be changed: another monitor, other timeouts, all networks', async () => {
    await program({ healthMonitor: 'tcp', readTimeout: '30s' });
    expect(await only('healthmonitors')).toMatchObject({ type: 'TCP' });
    expect(await only('listeners')).toMatchObject({ timeout_member_data: 30_000, allowed_cidrs: null });
  });

  test('can be removed', async () => {
    await program({});
    expect(await octavia.list('healthmonitors')).toEqual([]);
    expect(await only('listeners')).toMatchObject({ timeout_member_connect: 5_000 });
  });
});
