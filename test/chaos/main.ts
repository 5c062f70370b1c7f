/** `npm run chaos -- --minutes 5 --seed 7` */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { chaos } from './chaos.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: String(randomInt(2 ** 32)) },
  },
});
const seed = Number(values.seed);
console.log(`seed ${seed}`);
const end = performance.now() + Number(values.minutes) * 60_000;
try {
  const { steps, writes, weights } = await chaos({
    seed,
    nodes: 3,
    rounds: () => performance.now() < end,
    steps: 30,
    longestPauseMs: 1_500,
    report: (line) => console.log(line),
  });
  console.log(
    `seed ${seed}: ${steps} steps, ${writes} writes answered, hubs at the end: ${JSON.stringify(weights)}`,
  );
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
