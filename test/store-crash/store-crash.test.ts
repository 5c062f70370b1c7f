/** Kills a writer with SIGKILL again and again: no acknowledged write may be lost, and revisions never decrease. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openStore, type Store } from '@tidegate/envtest/store';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestProcess } from '../support/process.ts';
import { type Acknowledged, configMap, valueAt } from './workload.ts';

const ROUNDS = 15;
const LONGEST_RUN_MS = 400;

let directory: string;
let program: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-crash-'));
  program = join(directory, 'writer.mjs');
  await build({
    conditions: ['tidegate-source'],
    entryPoints: [fileURLToPath(new URL('writer.ts', import.meta.url))],
    outfile: program,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
  });
});

afterAll(() => rm(directory, { recursive: true, force: true }));

/** Lets the writer run for a random time, kills it, and returns the writes that it acknowledged. */
async function runAndKill(data: string): Promise<Acknowledged[]> {
  const writer = new TestProcess([process.execPath, program, data]);
  await writer.until(({ stdout }) => stdout.includes('\n'));
  await sleep(Math.random() * LONGEST_RUN_MS);
  await writer.kill('SIGKILL');
  expect({ ...(await writer.exited), stderr: writer.stderr }).toEqual({
    code: null,
    signal: 'SIGKILL',
    stderr: '',
  });
  // The kill can cut off the last line.
  const lines = writer.stdout.split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Acknowledged);
}

/** The state after all acknowledged writes, by name. */
class Ledger {
  readonly #newest = new Map<string, Acknowledged>();
  revision = 0;

  add(acknowledged: readonly Acknowledged[]): void {
    for (const one of acknowledged) {
      this.#newest.set(one.name, one);
      this.revision = Math.max(this.revision, one.revision);
    }
  }

  check(store: Store): void {
    expect(store.revision).toBeGreaterThanOrEqual(this.revision);
    this.revision = store.revision;
    for (const { type, name, revision } of this.#newest.values()) {
      const entry = store.get(configMap(name));
      if (type === 'delete') expect(entry, `${name} was deleted at ${revision}`).toBeUndefined();
      // A temporary object's deletion may have become durable without being acknowledged in time.
      else if (name.startsWith('kept-') || entry !== undefined) {
        expect(entry?.revision, `${name} was written at ${revision}`).toBeGreaterThanOrEqual(revision);
      }
    }
    for (const { revision, value } of store.list('configmaps').entries) {
      if (!value.equals(valueAt(revision))) expect.fail(`the value of revision ${revision} is torn`);
    }
  }
}

it(`loses no acknowledged write in ${ROUNDS} kills`, async () => {
  const data = join(directory, 'data');
  const ledger = new Ledger();
  for (let round = 0; round < ROUNDS; round += 1) {
    ledger.add(await runAndKill(data));
    const store = await openStore({ directory: data, log: { warn: () => {}, error: () => {} } });
    ledger.check(store);
    await store.close();
  }
  expect(ledger.revision).toBeGreaterThan(ROUNDS);
});
