import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DurableMap } from '@tidegate/disk';
import { silentLogger, systemClock } from '@tidegate/kube';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Delta } from '../ingress/model.ts';
import { Snapshot } from './snapshot.ts';

const OWNER = { classNames: ['gold'] };
const NONE = { set: [], remove: [] };
const STATE: Delta = {
  from: 0,
  to: 1,
  hosts: { set: [{ host: 'a.io', namespace: 'shop', routes: [] }], remove: [] },
  upstreams: NONE,
  certificates: NONE,
  credentials: { set: [{ id: 'shop/users', users: { ann: 'x' } }], remove: [] },
};

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tidegate-snapshot-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const open = (owner = OWNER) => Snapshot.open({ directory, owner, clock: systemClock, log: silentLogger });

const loaded = async (owner = OWNER): Promise<Delta | undefined> => {
  const snapshot = await open(owner);
  const state = await snapshot.load();
  await snapshot.close();
  return state;
};

async function store(): Promise<void> {
  const snapshot = await open();
  await snapshot.load();
  snapshot.note(STATE);
  await snapshot.close();
}

/** Changes the stored entries as another version of this program might have written them. */
async function tamper(change: (map: DurableMap) => void): Promise<void> {
  const map = await DurableMap.open(join(directory, 'served', 'table'), { log: silentLogger });
  change(map);
  await map.close();
}

it('returns the table that was stored', async () => {
  await store();
  expect(await loaded()).toEqual(STATE);
});

it('discards a table of another owner', async () => {
  await store();
  expect(await loaded({ classNames: ['silver'] })).toBeUndefined();
  expect(await loaded()).toBeUndefined();
});

it('reads a table of the format without policies, and stores it in the current format', async () => {
  await store();
  await tamper((map) => map.put('owner', Buffer.from(JSON.stringify({ format: 2, owner: OWNER }))));
  expect(await loaded()).toEqual(STATE);
  expect(await loaded()).toEqual(STATE);
});

it.each([
  ['of the format without a number', JSON.stringify(OWNER)],
  ['of a later format', JSON.stringify({ format: 1000, owner: OWNER })],
])('discards a table %s', async (_, marker) => {
  await store();
  await tamper((map) => map.put('owner', Buffer.from(marker)));
  expect(await loaded()).toBeUndefined();
  // The discarded entries are gone, and the next table is kept.
  await store();
  expect(await loaded()).toEqual(STATE);
});
