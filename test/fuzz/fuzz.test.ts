/** A short run; `npm run fuzz` runs a long one. */
import { expect, it } from 'vitest';
import { fuzz } from './fuzz.ts';
import { startHubTarget } from './hub-target.ts';

it('the hub understands hostile requests as the reference does, or refuses them', async () => {
  const hub = await startHubTarget();
  let left = 400;
  try {
    const { plain } = await fuzz(hub, { seed: 1, more: () => left-- > 0 });
    expect(plain).toBeGreaterThan(50);
  } finally {
    await hub.stop();
  }
}, 180_000);
