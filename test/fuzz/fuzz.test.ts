/** Short runs; `npm run fuzz` runs long ones. */
import { expect, it } from 'vitest';
import { fuzzApiServer } from './apiserver.ts';
import { fuzz } from './fuzz.ts';
import { startHubTarget } from './hub-target.ts';
import { startEmbeddedRouter, startNginxRouter } from './routers.ts';
import type { FuzzTarget } from './target.ts';

async function run<R>(start: () => Promise<FuzzTarget<R>>, requests: number): Promise<number> {
  const target = await start();
  let left = requests;
  try {
    const { plain } = await fuzz(target, { seed: 1, more: () => left-- > 0 });
    return plain;
  } finally {
    await target.stop();
  }
}

it('the hub understands hostile requests as the reference does, or refuses them', async () => {
  expect(await run(startHubTarget, 400)).toBeGreaterThan(50);
}, 180_000);

it('a router with nginx understands hostile requests as the reference does, or refuses them', async () => {
  expect(await run(startNginxRouter, 500)).toBeGreaterThan(100);
}, 180_000);

it('an embedded router understands hostile requests as the reference does, or refuses them', async () => {
  expect(await run(startEmbeddedRouter, 500)).toBeGreaterThan(100);
}, 180_000);

it('the embedded API server answers hostile requests, and never with an internal error', async () => {
  let left = 1500;
  const { plain } = await fuzzApiServer({ seed: 1, more: () => left-- > 0 });
  expect(plain).toBeGreaterThan(50);
}, 180_000);
