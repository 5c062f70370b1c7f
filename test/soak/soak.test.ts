/** A short soak test; `npm run soak` runs a long one. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Soak } from './soak.ts';
import { World } from './world.ts';

const SEED = 1;
const OPERATIONS = 8;
/** Operations that settle quickly. */
const QUICK = [
  ...['kill a hub', 'kill the manager', 'kill an nginx worker', 'cut a pool', 'mend'],
  ...['delete a pod', 'scale the application', 'add a route', 'change a route', 'renew a certificate'],
];

let directory: string;
let world: World;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-soak-'));
  world = await World.open(directory, 'nginx');
});
afterAll(async () => {
  await world?.close();
  await rm(directory, { recursive: true, force: true });
});

it('responses stay in their pool and front doors stay open, whatever happens', async () => {
  const lines: string[] = [];
  const shouldContinue = (): boolean => lines.length < OPERATIONS;
  const soak = new Soak(world, {
    seed: SEED,
    only: QUICK,
    shouldContinue,
    report: (line) => lines.push(line),
  });
  const { answered } = await soak.run();
  expect(answered).toBeGreaterThan(100);
});
