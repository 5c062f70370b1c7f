/** `npm run soak -- --minutes 10 --seed 7 --dataplane embedded --only 'cut a pool' --only mend` */
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { DataPlane } from '../support/data-plane.ts';
import { SORTS } from './operations/index.ts';
import { lastWorries, summary } from './report.ts';
import { Soak, Violation } from './soak.ts';
import { World } from './world.ts';

const OPERATIONS = SORTS.flatMap(Object.keys);
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(randomInt(2 ** 32)) },
    dataplane: { type: 'string', default: 'nginx' },
    only: { type: 'string', multiple: true, default: OPERATIONS },
  },
});
const wrong = [
  ...(Number(values.minutes) > 0 ? [] : ['--minutes is a number above 0']),
  ...(Number.isSafeInteger(Number(values.seed)) ? [] : ['--seed is a whole number']),
  ...(['nginx', 'embedded'].includes(values.dataplane) ? [] : ['--dataplane is nginx or embedded']),
  ...(values.only.every((name) => OPERATIONS.includes(name))
    ? []
    : [`--only is one of: ${OPERATIONS.join(', ')}`]),
];
if (wrong.length > 0) {
  console.error(wrong.join('\n'));
  process.exit(2);
}
const seed = Number(values.seed);
const print = (line: string): void => console.log(line);
print(`seed ${seed}, data plane ${values.dataplane}`);
const directory = await mkdtemp(join(tmpdir(), 'tidegate-soak-'));
const world = await World.open(directory, values.dataplane as DataPlane);
const end = performance.now() + Number(values.minutes) * 60_000;
try {
  const goesOn = (): boolean => performance.now() < end;
  const result = await new Soak(world, { seed, only: values.only, goesOn, report: print }).run();
  print(summary(seed, result));
  if (result.weights.some(({ leaks }) => leaks)) process.exitCode = 1;
  await world.close();
  await rm(directory, { recursive: true, force: true });
} catch (error) {
  const worries = await lastWorries(directory);
  await world.close();
  print(worries);
  console.error(error instanceof Violation ? error.message : error);
  print(`seed ${seed}; all logs are in ${directory}`);
  process.exitCode = 1;
}
