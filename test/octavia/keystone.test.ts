/** Routers on Octavia with Keystone: the middleware of Octavia's API checks each token and the roles of its user. */
import { INGRESSES } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readCloud, type Session } from '../../packages/tidegate/src/dataplane/octavia/index.ts';
import { Octavia } from '../../packages/tidegate/src/dataplane/octavia/openstack/index.ts';
import { host, route, upstream } from '../dataplane/support/words.ts';
import { IngressWorld } from '../ingress/support.ts';
import { Faults } from './support/faults.ts';
import { KeystoneServer, type KeystoneUser, keystoneSettings } from './support/keystone.ts';
import { OctaviaServer } from './support/octavia.ts';
import {
  context,
  never,
  provisioner,
  ready,
  removed,
  router,
  SUBNET,
  session,
  snapshot,
} from './support/routers.ts';

let keystone: KeystoneServer;
let server: OctaviaServer;
let faults: Faults;
let member: KeystoneUser;

beforeAll(async () => {
  keystone = await KeystoneServer.start();
  server = await OctaviaServer.start({
    auth: 'keystone',
    configuration: keystoneSettings(keystone.url, 'keystone_authtoken'),
  });
  faults = await Faults.start(server.url);
  await keystone.addService('load-balancer', faults.url);
  member = await keystone.addUser('tidegate', 'load-balancer_member');
});
afterAll(async () => {
  await faults?.stop();
  await server?.stop();
  await keystone?.stop();
});

async function sessionOf(user: KeystoneUser): Promise<Session> {
  const made = session(await readCloud(keystone.environmentOf(user)));
  onTestFinished(() => made.close());
  return made;
}

const WANTED = snapshot([host('a.io', [route('/', 'shop_s1_80')])], [upstream('shop_s1_80', [80])]);

describe('routers on Octavia with Keystone', () => {
  test('belong to the project of the user, and continue when the token is revoked between two calls', async () => {
    const calls = await sessionOf(member);
    const object = router('tokens');
    const own = provisioner(server, calls);
    const { loadBalancer } = await ready(own, object);
    expect(loadBalancer?.projectID).toBe(member.projectId);
    const tokens = new Set<string>();
    faults.before = async (_method, _path, { 'x-auth-token': token }) => {
      if (tokens.size === 0) await keystone.revoke(`${token}`);
      tokens.add(`${token}`);
    };
    await own.reconcile(object, WANTED, never);
    faults.before = async () => {};
    expect(tokens.size).toBe(2);
    expect((await provisioner(server, calls).preview(object, WANTED, never)).steps).toEqual([]);
    await removed(own, object);
  });

  test('are reported if the user does not have the role', async () => {
    const calls = await sessionOf(await keystone.addUser('reader', 'reader'));
    await expect(provisioner(server, calls).ensure(router('denied'), context, never)).rejects.toMatchObject({
      reason: 'CloudAccessDenied',
      message: expect.stringMatching(/^load-balancer: GET .*403 .*role load-balancer_member in the project/),
    });
  });

  test('are not seen by users of another project', async () => {
    const object = router('own-project');
    const own = provisioner(server, await sessionOf(member));
    await ready(own, object);
    const other = await sessionOf(await keystone.addUser('other', 'load-balancer_member'));
    expect(await new Octavia(other).list('loadbalancers')).toEqual([]);
    expect(await provisioner(server, other).routers(never)).toEqual(new Set());
    await removed(own, object);
  });

  test('serve an Ingress, with an application credential', async () => {
    const { id, secret } = await keystone.addCredential('tidegate', member);
    const cloud = await readCloud({
      OS_AUTH_TYPE: 'v3applicationcredential',
      OS_AUTH_URL: keystone.url,
      OS_APPLICATION_CREDENTIAL_ID: id,
      OS_APPLICATION_CREDENTIAL_SECRET: secret,
    });
    const calls = session(cloud);
    onTestFinished(() => calls.close());
    const world = await IngressWorld.start({ provisioners: [provisioner(server, calls)] });
    onTestFinished(() => world.stop());
    await world.makeClass('gold', { subnetId: SUBNET, drainTime: '1s' }, 'tidegate.io/octavia');
    await world.make({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name: 'test', namespace: 'shop' },
      spec: {
        ingressClassName: 'gold',
        rules: [
          {
            host: 'www.example.com',
            http: {
              paths: [
                { path: '/', pathType: 'Prefix', backend: { service: { name: 's1', port: { number: 80 } } } },
              ],
            },
          },
        ],
      },
    });
    const [found] = await expect
      .poll(() => new Octavia(calls).list('loadbalancers'))
      .toHaveLength(1)
      .then(() => new Octavia(calls).list('loadbalancers'));
    expect(found?.project_id).toBe(member.projectId);
    await expect.poll(() => world.addressesOf('test')).toEqual([found?.vip_address]);
    await world.remove(INGRESSES, 'test', 'shop');
    await world.routersAre();
    expect(await new Octavia(calls).list('loadbalancers')).toEqual([]);
  });
});
