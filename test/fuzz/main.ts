/** Runs the fuzz test: `npm run fuzz -- --minutes 5 --seed 7`. */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { fuzzApiServer } from './apiserver.ts';
import { fuzz } from './fuzz.ts';
import { startHubTarget } from './hub-target.ts';
import { startEmbeddedRouter, startNginxRouter } from './routers.ts';
import type { FuzzTarget } from './target.ts';

const TARGETS: Readonly<Record<string, (seed: number, ms: number) => Promise<void>>> = {
  hub: (seed, ms) => run(startHubTarget, seed, ms),
  nginx: (seed, ms) => run(startNginxRouter, seed, ms),
  embedded: (seed, ms) => run(startEmbeddedRouter, seed, ms),
  apiserver: runApiServer,
};

async function run<R>(start: () => Promise<FuzzTarget<R>>, seed: number, ms: number): Promise<void> {
  const target = await start();
  const end = performance.now() + ms;
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

/** The API server answers requests itself, so it has a run of its own. */
async function runApiServer(seed: number, ms: number): Promise<void> {
  const end = performance.now() + ms;
  try {
    const { requests, plain } = await fuzzApiServer({ seed, more: () => performance.now() < end });
    console.log(`apiserver: ${requests} requests, ${plain} of them accepted, no internal error`);
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  }
}

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    target: { type: 'string', multiple: true, default: Object.keys(TARGETS) },
    seed: { type: 'string', default: String(randomInt(2 ** 32)) },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`usage: npm run fuzz -- [--minutes NUMBER] [--seed NUMBER] [--target NAME]...

Sends random hostile requests to each component (${Object.keys(TARGETS).join(', ')}) and compares what the component forwards
with a strict reference: path, host, identity, length and number of requests. Prints the shortest request that shows a
difference, and exits with status 1. The embedded API server (apiserver) must answer every request without an internal error.
The same seed repeats the same requests.`);
  process.exit(0);
}
const minutes = Number(values.minutes);
const seed = Number(values.seed);
const wrong = [
  ...(minutes > 0 ? [] : ['--minutes must be a number above 0']),
  ...(Number.isSafeInteger(seed) ? [] : ['--seed must be an integer']),
  ...values.target.flatMap((name) =>
    Object.hasOwn(TARGETS, name)
      ? []
      : [`--target must be one of ${Object.keys(TARGETS).join(', ')}, not ${name}`],
  ),
];
if (wrong.length > 0) {
  console.error(wrong.join('\n'));
  process.exit(2);
}
console.log(`seed ${seed}`);
for (const name of values.target) await TARGETS[name]?.(seed, (minutes * 60_000) / values.target.length);
