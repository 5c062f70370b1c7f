/** A short chaos test; `npm run chaos` runs a long one. */
import { expect, it } from 'vitest';
import { chaos } from './chaos.ts';

const SEED = 1;
const STEPS = 20;

it('after cuts, kills and changes, all programs see the right objects and no acknowledged write is lost', async () => {
  let rounds = 1;
  const lines: string[] = [];
  const { writes } = await chaos({
    seed: SEED,
    nodes: 2,
    rounds: () => rounds-- > 0,
    steps: STEPS,
    maxPauseMs: 300,
    report: (line) => lines.push(line),
  }).catch((error: unknown) => {
    console.log(lines.join('\n'));
    throw error;
  });
  expect(writes).toBeGreaterThan(0);
});
