import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DurableMap } from '@tidegate/disk';
import { type KubeClient, silentLogger } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BearerIdentity } from '../identity/identity.ts';
import { tenantOfUser } from '../shares/index.ts';
import { Access } from './access.ts';
import type { ResourceAttributes } from './decisions.ts';

const SERVICES: ResourceAttributes = {
  verb: 'list',
  group: '',
  version: 'v1',
  resource: 'services',
  namespace: '',
  name: '',
};
const account = (namespace: string, name: string): BearerIdentity => ({
  kind: 'bearer',
  key: `sa:${namespace}:${name}:1`,
  token: `${namespace}/${name}`,
  tokenKey: `${namespace}/${name}`,
  peer: async () => 'local',
});
const PROXY = account('kube-system', 'kube-proxy');
const GREEDY = account('tenant', 'greedy');

describe('access decisions of many clients', () => {
  let directory: string;
  let memory: DurableMap;
  let access: Access;
  let online = true;
  const signal = new AbortController().signal;
  /** The API server, which allows everything in the tenant's own namespace, and everything to kube-proxy. */
  const raw = async ({ headers, body }: { headers: { authorization: string }; body: string }) => {
    const { namespace } = JSON.parse(body).spec.resourceAttributes;
    const allowed = headers.authorization === `Bearer ${PROXY.token}` || namespace === 'tenant';
    return { status: { allowed } };
  };

  const open = async (): Promise<void> => {
    memory = await DurableMap.open(join(directory, 'memory'));
    access = await Access.open({
      client: { raw } as unknown as KubeClient,
      memory,
      tokens: {
        suspect: async () => {},
        holderOf: (key) => ({
          identity: key,
          tenant: tenantOfUser(`system:serviceaccount:${key.split(':')[1]}:x`),
        }),
      },
      online: () => online,
      clock: new VirtualClock(),
      log: silentLogger,
    });
  };
  const ask = (identity: BearerIdentity, change: Partial<ResourceAttributes>): Promise<number> =>
    access.check(identity, { ...SERVICES, ...change }, signal).then(
      () => 200,
      (error) => error.status.code,
    );
  const flood = async (identities: BearerIdentity[], namespace?: string): Promise<void> => {
    for (let i = 0; i < 11_000; i++)
      await ask(identities[i % identities.length]!, {
        verb: 'get',
        namespace: namespace ?? `n${i}`,
        name: `s${i}`,
      });
  };
  /** The answers to kube-proxy and to another account of the tenant while the link is cut and after a restart. */
  const offline = async (): Promise<number[]> => {
    online = false;
    await memory.close();
    await open();
    const answers = [await ask(PROXY, {}), await ask(account('tenant', 'quiet'), { namespace: 'tenant' })];
    online = true;
    return answers;
  };

  beforeEach(async () => {
    online = true;
    directory = await mkdtemp(join(tmpdir(), 'tidegate-hub-'));
    await open();
    await ask(PROXY, {});
    await ask(account('tenant', 'quiet'), { namespace: 'tenant' });
  });
  afterEach(async () => {
    await memory.close();
    await rm(directory, { recursive: true });
  });

  it('survive the denials of a client that asks for everything', async () => {
    await flood([GREEDY]);
    expect(await offline()).toEqual([200, 200]);
    expect(memory.keys('access/').length).toBeLessThanOrEqual(102);
  });

  it('survive the permissions of a client that asks for many names', async () => {
    await ask(GREEDY, { namespace: 'tenant' });
    await flood([GREEDY], 'tenant');
    expect(await offline()).toEqual([200, 200]);
    expect(memory.keys('access/').length).toBeLessThanOrEqual(1_002);
  });

  it('survive a tenant with many accounts, and stay bounded', async () => {
    const accounts = Array.from({ length: 1_000 }, (_, i) => account('tenant', `sybil-${i}`));
    await flood(accounts, 'tenant');
    expect(await offline()).toEqual([200, 200]);
    expect(memory.keys('access/').length).toBeLessThanOrEqual(10_000);
  });

  it('are not pushed out by denials of the same client', async () => {
    await ask(GREEDY, { namespace: 'tenant' });
    await flood([GREEDY]);
    online = false;
    expect(await ask(GREEDY, { namespace: 'tenant' })).toBe(200);
    online = true;
  });

  it('are not kept for names that no object can have', async () => {
    const before = memory.keys('access/').length;
    for (const change of [{ name: 'x'.repeat(8_000) }, { namespace: 'x'.repeat(8_000) }])
      await ask(GREEDY, { verb: 'get', namespace: 'tenant', ...change });
    expect(memory.keys('access/').length).toBe(before);
  });
});
