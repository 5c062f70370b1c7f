/** Runs the soak test: `npm run soak -- --minutes 10 --seed 7 --data-plane embedded --only 'cut a pool' --only mend`. */
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { DataPlane } from '../support/data-plane.ts';
import { OPERATION_GROUPS } from './operations/index.ts';
import { lastWarnings, summary } from './report.ts';
import { Soak, Violation } from './soak.ts';
import { World } from './world.ts';

const OPERATIONS = OPERATION_GROUPS.flatMap(Object.keys);
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(randomInt(2 ** 32)) },
    'data-plane': { type: 'string', default: 'nginx' },
    only: { type: 'string', multiple: true, default: OPERATIONS },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`usage: npm run soak -- [--minutes NUMBER] [--seed NUMBER] [--data-plane nginx|embedded] [--only OPERATION]...

Runs random operations on the cluster of the story under constant load. Exits with status 1 when a request fails that no
operation explains, when the cluster does not settle after an operation, or when a process leaks memory. The same seed
repeats the same sequence.

Operations: ${OPERATIONS.join(', ')}`);
  process.exit(0);
}
const wrong = [
  ...(Number(values.minutes) > 0 ? [] : ['--minutes must be a number above 0']),
  ...(Number.isSafeInteger(Number(values.seed)) ? [] : ['--seed must be an integer']),
  ...(['nginx', 'embedded'].includes(values['data-plane']) ? [] : ['--data-plane must be nginx or embedded']),
  ...(values.only.every((name) => OPERATIONS.includes(name))
    ? []
    : [`--only must be one of: ${OPERATIONS.join(', ')}`]),
];
if (wrong.length > 0) {
  console.error(wrong.join('\n'));
  process.exit(2);
}
const seed = Number(values.seed);
const print = (line: string): void => console.log(line);
print(`seed ${seed}, data plane ${values['data-plane']}`);
const directory = await mkdtemp(join(tmpdir(), 'tidegate-soak-'));
const world = await World.open(directory, values['data-plane'] as DataPlane);
const end = performance.now() + Number(values.minutes) * 60_000;
try {
  const shouldContinue = (): boolean => performance.now() < end;
  const result = await new Soak(world, { seed, only: values.only, shouldContinue, report: print }).run();
  print(summary(seed, result));
  if (result.usages.some(({ leaks }) => leaks)) process.exitCode = 1;
  await world.close();
  await rm(directory, { recursive: true, force: true });
} catch (error) {
  const warnings = await lastWarnings(directory);
  await world.close();
  print(warnings);
  console.error(error instanceof Violation ? error.message : error);
  print(`Repeat this run with --seed ${seed}. All logs are in ${directory}.`);
  process.exitCode = 1;
}
