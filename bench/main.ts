/**
 * `npm run bench -- NAME`: each benchmark prints its figures beside a reference that was measured in the same run, so
 * that the ratio means something on any machine.
 */

import { runBareServer } from './apiserver/bare-server.ts';
import { benchApiServer } from './apiserver/index.ts';
import { benchHub } from './hub/index.ts';
import { benchLocal } from './local/index.ts';
import { benchPools } from './pools/index.ts';

const BENCHMARKS: Record<string, (args: string[]) => Promise<void>> = {
  apiserver: benchApiServer,
  hub: benchHub,
  local: benchLocal,
  pools: benchPools,
};

const [name = '', ...args] = process.argv.slice(2);
const benchmark = BENCHMARKS[name];
if (name === 'bare-server') {
  // The reference runs in a process of its own, as the server under test does.
  await runBareServer();
} else if (benchmark === undefined) {
  console.error(`usage: npm run bench -- NAME, where NAME is one of: ${Object.keys(BENCHMARKS).join(', ')}`);
  process.exitCode = 1;
} else {
  await benchmark(args);
}
