/** Runs the fuzz test: `npm run fuzz -- --minutes 5 --seed 7`. */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { fuzz } from './fuzz.ts';
import { startHubTarget } from './hub-target.ts';

/** Further components, for example routers, are added here. */
const TARGETS = { hub: startHubTarget };

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: String(randomInt(2 ** 32)) },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`usage: npm run fuzz -- [--minutes NUMBER] [--seed NUMBER]

Sends random hostile requests to each component (${Object.keys(TARGETS).join(', ')}) and compares what the component forwards
with a strict reference: path, identity and length. Exits with status 1 at the first difference. The same seed repeats the
same requests.`);
  process.exit(0);
}
const minutes = Number(values.minutes);
const seed = Number(values.seed);
const wrong = [
  ...(minutes > 0 ? [] : ['--minutes must be a number above 0']),
  ...(Number.isSafeInteger(seed) ? [] : ['--seed must be an integer']),
];
if (wrong.length > 0) {
  console.error(wrong.join('\n'));
  process.exit(2);
}
console.log(`seed ${seed}`);
for (const start of Object.values(TARGETS)) {
  const target = await start();
  const end = performance.now() + (minutes * 60_000) / Object.keys(TARGETS).length;
  try {
    const { requests, plain } = await fuzz(target, { seed, more: () => performance.now() < end });
    console.log(`${target.name}: ${requests} requests, ${plain} of them plain, no difference`);
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  } finally {
    await target.stop();
  }
}
