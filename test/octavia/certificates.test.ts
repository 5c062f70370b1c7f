import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Session } from '../../packages/tidegate/src/dataplane/octavia/index.ts';
import { BarbicanStore } from '../../packages/tidegate/src/dataplane/octavia/run/barbican-store.ts';
import { TestAuthority } from '../../packages/tidegate/src/ingress/testing/certificates.ts';
import { BarbicanServer } from './support/barbican.ts';
import { openCloud, session } from './support/routers.ts';

let barbican: BarbicanServer;
let calls: Session;

beforeAll(async () => {
  barbican = await BarbicanServer.start();
  calls = session(openCloud(barbican.url, { 'key-manager': barbican.url }));
});
afterAll(async () => {
  await calls?.close();
  await barbican?.stop();
});

describe('certificates in Barbican', () => {
  test('are containers of a router, and are deleted with all of their secrets', async () => {
    const pair = new TestAuthority().issue(['a.io']);
    const chain = { ...pair, certificate: pair.certificate + pair.certificate };
    const gold = new BarbicanStore(calls, 'tidegate_c_gold_');
    const other = new BarbicanStore(calls, 'tidegate_c_gold-2_');
    const ref = await gold.store('tidegate_c_gold_1', chain);
    await other.store('tidegate_c_gold-2_1', pair);
    expect(await gold.list()).toEqual(new Map([[ref, 'tidegate_c_gold_1']]));
    const parts = barbican.containers.get(ref)?.secret_refs as { name: string; secret_ref: string }[];
    const payload = (name: string) =>
      barbican.secrets.get(`${parts.find((part) => part.name === name)?.secret_ref}`)?.payload;
    expect(payload('certificate')).toBe(pair.certificate);
    expect(payload('intermediates')).toBe(pair.certificate);
    expect(payload('private_key')).toBe(pair.key);
    await gold.delete('tidegate_c_gold_1');
    expect([await gold.list(), barbican.secrets.size, barbican.containers.size]).toEqual([new Map(), 2, 1]);
    await gold.delete('tidegate_c_gold_1');
  });

  test('are found among more certificates than a page has', async () => {
    const store = new BarbicanStore(calls, 'tidegate_c_many_');
    const pair = new TestAuthority().issue(['a.io']);
    for (let i = 0; i < 120; i++) await store.store(`tidegate_c_many_${i}`, pair);
    expect((await store.list()).size).toBe(120);
  });
});
