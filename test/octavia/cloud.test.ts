import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readCloud, Session } from '../../packages/tidegate/src/dataplane/octavia/index.ts';
import { Neutron, OpenStackError } from '../../packages/tidegate/src/dataplane/octavia/openstack/index.ts';
import { ADMIN, KeystoneServer } from './support/keystone.ts';
import { NeutronServer } from './support/neutron.ts';

let keystone: KeystoneServer;
let neutron: NeutronServer;

beforeAll(async () => {
  keystone = await KeystoneServer.start();
  neutron = await NeutronServer.start();
  await keystone.addService('network', `${neutron.url}/`);
});
afterAll(async () => {
  await neutron?.stop();
  await keystone?.stop();
});

async function sessionOf(environment: Record<string, string>): Promise<Session> {
  const made = new Session(await readCloud(environment), systemClock);
  onTestFinished(() => made.close());
  return made;
}

const password = () => keystone.environmentOf(ADMIN);

/** Remembers the tokens of requests, and asks Keystone whether they are valid. */
function tokensAtNeutron(): string[] {
  const seen: string[] = [];
  neutron.isValid = async (token) => {
    seen.push(`${token}`);
    return token !== undefined && keystone.isValid(token);
  };
  return seen;
}

describe('a session with Keystone', () => {
  test('authenticates with a password of the environment, and finds services in the catalog', async () => {
    const own = await sessionOf(password());
    const seen = tokensAtNeutron();
    expect(await new Neutron(own).list({})).toEqual([]);
    expect(await own.projectId()).toMatch(/^[0-9a-f]{32}$/);
    expect([await own.has('network'), await own.has('key-manager')]).toEqual([true, false]);
    await new Neutron(own).list({});
    expect(new Set(seen).size).toBe(1);
  });

  test('authenticates with an application credential of clouds.yaml', async () => {
    const { id, secret } = await keystone.addCredential('tidegate');
    const file = join(tmpdir(), 'clouds.yaml');
    const auth = {
      auth_url: keystone.url,
      application_credential_id: id,
      application_credential_secret: secret,
    };
    const clouds = {
      clouds: { edge: { auth_type: 'v3applicationcredential', region_name: 'RegionOne', auth } },
    };
    await writeFile(file, JSON.stringify(clouds));
    tokensAtNeutron();
    const own = await sessionOf({ OS_CLOUD: 'edge', OS_CLIENT_CONFIG_FILE: file });
    expect(await new Neutron(own).list({})).toEqual([]);
    await expect(readCloud({ OS_CLOUD: 'other', OS_CLIENT_CONFIG_FILE: file })).rejects.toThrow(
      `${file}: clouds.other does not exist (OS_CLOUD); the file has: edge.`,
    );
  });

  test('gets another token when its token was revoked', async () => {
    const own = await sessionOf(password());
    const seen = tokensAtNeutron();
    await new Neutron(own).list({});
    await keystone.revoke(`${seen[0]}`);
    expect(await new Neutron(own).list({})).toEqual([]);
    expect(new Set(seen).size).toBe(2);
  });

  test('gets another token before its token expires', async () => {
    let now = Date.now();
    const own = new Session(await readCloud(password()), { ...systemClock, now: () => now });
    onTestFinished(() => own.close());
    const seen = tokensAtNeutron();
    await new Neutron(own).list({});
    now += 3_550_000;
    await new Neutron(own).list({});
    expect(new Set(seen).size).toBe(2);
  });

  test('reports a wrong password without repeating it', async () => {
    const own = await sessionOf({ ...password(), OS_PASSWORD: 'wrong' });
    const failed = await new Neutron(own).list({}).catch((error: Error) => error);
    expect(failed instanceof OpenStackError && failed.kind).toBe('denied');
    expect(`${failed}`).toContain('identity: POST /v3/auth/tokens: 401 The request you have made requires');
    expect(`${failed}`).not.toContain('wrong');
  });
});
