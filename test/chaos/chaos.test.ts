/** A short chaos; `npm run chaos` is the long one. */
import { expect, it } from 'vitest';
import { chaos } from './chaos.ts';

const SEED = 1;
const STEPS = 20;

it('after cuts, kills and changes everybody sees what they should, and nothing answered is lost', async () => {
  let rounds = 1;
  const said: string[] = [];
  const { writes } = await chaos({
    seed: SEED,
    nodes: 2,
    rounds: () => rounds-- > 0,
    steps: STEPS,
    longestPauseMs: 300,
    report: (line) => said.push(line),
  }).catch((error: unknown) => {
    console.log(said.join('\n'));
    throw error;
  });
  expect(writes).toBeGreaterThan(0);
}, 180_000);
