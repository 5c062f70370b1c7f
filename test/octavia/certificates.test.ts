/** Certificates in Barbican. All services are real, and check tokens with Keystone. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readCloud, type Session } from '../../packages/tidegate/src/dataplane/octavia/index.ts';
import { BarbicanStore } from '../../packages/tidegate/src/dataplane/octavia/run/barbican-store.ts';
import { TestAuthority } from '../../packages/tidegate/src/ingress/testing/certificates.ts';
import { shownCertificate } from '../dataplane/support/client.ts';
import { certificate, host, upstream } from '../dataplane/support/words.ts';
import { reservePort } from '../support/ports.ts';
import { BarbicanServer } from './support/barbican.ts';
import { KeystoneServer, type KeystoneUser, keystoneSettings } from './support/keystone.ts';
import { OctaviaServer } from './support/octavia.ts';
import { never, provisioner, ready, removed, router, session, snapshot } from './support/routers.ts';

const PAGE = 3;

let keystone: KeystoneServer;
let barbican: BarbicanServer;
let server: OctaviaServer;
let user: KeystoneUser;
let calls: Session;

beforeAll(async () => {
  keystone = await KeystoneServer.start();
  barbican = await BarbicanServer.start(keystone.url, PAGE);
  server = await OctaviaServer.start({
    auth: 'keystone',
    configuration: `
[certificates]
cert_manager = barbican_cert_manager
barbican_auth = barbican_acl_auth
region_name = RegionOne
endpoint_type = public
${keystoneSettings(keystone.url, 'service_auth')}
${keystoneSettings(keystone.url, 'keystone_authtoken')}`,
  });
  await keystone.addService('load-balancer', server.url);
  await keystone.addService('key-manager', barbican.url);
  user = await keystone.addUser('tidegate', 'load-balancer_member', 'creator');
  calls = session(await readCloud(keystone.environmentOf(user)));
});
afterAll(async () => {
  await calls?.close();
  await server?.stop();
  await barbican?.stop();
  await keystone?.stop();
});

/** Names of all secrets or containers. */
async function namesOf(kind: 'secrets' | 'containers'): Promise<string[]> {
  const query = { limit: `${PAGE}` };
  const { [kind]: list } = await calls.call('key-manager', { method: 'GET', path: `/v1/${kind}`, query });
  return (list as { name: string }[]).map(({ name }) => name).sort();
}

async function payloadOf(ref: string): Promise<string> {
  const { token } = await keystone.tokenOf(user);
  const response = await fetch(`${ref}/payload`, {
    headers: { 'x-auth-token': token, accept: 'text/plain' },
  });
  return response.text();
}

describe('certificates in Barbican', () => {
  test('are containers of a router, and are deleted with all of their secrets', async () => {
    const pair = new TestAuthority().issue(['a.io']);
    const chain = { ...pair, certificate: pair.certificate + pair.certificate };
    const gold = new BarbicanStore(calls, 'tidegate_c_gold_');
    const other = new BarbicanStore(calls, 'tidegate_c_gold-2_');
    const ref = await gold.store('tidegate_c_gold_1', chain);
    await other.store('tidegate_c_gold-2_1', pair);
    expect(await gold.list()).toEqual(new Map([[ref, 'tidegate_c_gold_1']]));
    const path = ref.slice(barbican.url.length);
    const { secret_refs: parts } = await calls.call('key-manager', { method: 'GET', path });
    const payload = (part: string) =>
      payloadOf(
        `${(parts as { name: string; secret_ref: string }[]).find(({ name }) => name === part)?.secret_ref}`,
      );
    expect(await payload('certificate')).toBe(pair.certificate.trim());
    expect(await payload('intermediates')).toBe(pair.certificate.trim());
    expect(await payload('private_key')).toBe(pair.key.trim());
    await gold.delete('tidegate_c_gold_1');
    expect(await gold.list()).toEqual(new Map());
    expect(await namesOf('containers')).toEqual(['tidegate_c_gold-2_1']);
    expect(await namesOf('secrets')).toEqual([
      'tidegate_c_gold-2_1-certificate',
      'tidegate_c_gold-2_1-private_key',
    ]);
    await gold.delete('tidegate_c_gold_1');
    await other.delete('tidegate_c_gold-2_1');
  });

  test('are found if the cloud has shorter pages than the manager asks for', async () => {
    const store = new BarbicanStore(calls, 'tidegate_c_many_');
    const pair = new TestAuthority().issue(['a.io']);
    const names = Array.from({ length: PAGE + 1 }, (_, at) => `tidegate_c_many_${at}`);
    for (const name of names) await store.store(name, pair);
    expect([...(await store.list()).values()].toSorted()).toEqual(names.toSorted());
    for (const name of names) await store.delete(name);
    expect([await namesOf('containers'), await namesOf('secrets')]).toEqual([[], []]);
  });

  test('are presented by the load balancer, replaced by a new one, and deleted with the router', async () => {
    const object = router('secure', { certificates: 'barbican' });
    const own = provisioner(server, calls);
    const { loadBalancer } = await ready(own, object);
    const ports = { http: await reservePort(), https: await reservePort() };
    const authority = new TestAuthority();
    /** Programs a new certificate, and resolves to the one that clients see. */
    const rotate = async (): Promise<string> => {
      const routes = [host('secure.io', 's')];
      const pair = certificate('secure.io', authority.issue(['secure.io']));
      await own.reconcile(object, snapshot(routes, [upstream('s', [80])], [pair]), never);
      await server.runHaproxy(`${loadBalancer?.id}`, ports);
      const shown = await shownCertificate(ports.https, 'secure.io');
      expect(shown.subject?.CN).toBe('secure.io');
      return shown.fingerprint256;
    };
    const first = await rotate();
    const before = await namesOf('containers');
    expect(await rotate()).not.toBe(first);
    const after = await namesOf('containers');
    // That of the host and that of the router, which stays.
    expect([before.length, after.length]).toEqual([2, 2]);
    expect(before.filter((name) => after.includes(name))).toEqual(['tidegate_test_secure_default']);
    await removed(own, object);
    expect([await namesOf('containers'), await namesOf('secrets')]).toEqual([[], []]);
  });

  test('are reported with the missing role if Barbican refuses them', async () => {
    const member = await keystone.addUser('no-creator', 'load-balancer_member');
    const other = session(await readCloud(keystone.environmentOf(member)));
    onTestFinished(() => other.close());
    const object = router('refused', { certificates: 'barbican' });
    const own = provisioner(server, other);
    await ready(own, object);
    const pair = certificate('secure.io', new TestAuthority().issue(['secure.io']));
    const wanted = snapshot([host('secure.io', 's')], [upstream('s', [80])], [pair]);
    await expect(own.reconcile(object, wanted, never)).rejects.toMatchObject({
      reason: 'CloudAccessDenied',
      message: expect.stringMatching(/^key-manager: .* 403 .*need the role creator in the project\./),
    });
  });
});
