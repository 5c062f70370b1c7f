/** Runs the chaos test: `npm run chaos -- --minutes 5 --seed 7`. */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { startGuard } from '../guard/setup.ts';
import { chaos } from './chaos.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: String(randomInt(2 ** 32)) },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`usage: npm run chaos -- [--minutes NUMBER] [--seed NUMBER]

Cuts links, kills hubs and the API server, and changes objects at random, and checks that all programs see the right objects
and that no acknowledged write is lost. Exits with status 1 when a check fails. The same seed repeats the same sequence.`);
  process.exit(0);
}
const wrong = [
  ...(Number(values.minutes) > 0 ? [] : ['--minutes must be a number above 0']),
  ...(Number.isSafeInteger(Number(values.seed)) ? [] : ['--seed must be an integer']),
];
if (wrong.length > 0) {
  console.error(wrong.join('\n'));
  process.exit(2);
}
const seed = Number(values.seed);
console.log(`seed ${seed}`);
const endGuard = startGuard();
const end = performance.now() + Number(values.minutes) * 60_000;
try {
  const { steps, writes, usages } = await chaos({
    seed,
    nodes: 3,
    rounds: () => performance.now() < end,
    steps: 30,
    maxPauseMs: 1_500,
    report: (line) => console.log(line),
  });
  console.log(
    `seed ${seed}: ${steps} steps, ${writes} writes acknowledged, hubs at the end: ${JSON.stringify(usages)}`,
  );
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await endGuard?.();
}
