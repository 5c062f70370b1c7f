/**
 * `npm run bench -- NAME`: each benchmark prints its figures beside a reference that was measured in the same run, so
 * that the ratio means something on any machine.
 */

import { runBareServer } from './apiserver/bare-server.ts';
import { benchApiServer } from './apiserver/index.ts';
import { benchHub } from './hub/index.ts';
import { benchLocal } from './local/index.ts';
import { benchOctavia } from './octavia/index.ts';
import { benchPlacement } from './placement/index.ts';
import { benchPools } from './pools/index.ts';
import { EMBEDDED_PROCESS, runEmbeddedRouter } from './router/contenders.ts';
import { benchRouter } from './router/index.ts';

const BENCHMARKS: Record<string, (args: string[]) => Promise<void>> = {
  apiserver: benchApiServer,
  hub: benchHub,
  local: benchLocal,
  octavia: benchOctavia,
  placement: benchPlacement,
  pools: benchPools,
  router: benchRouter,
};

const [name = '', ...args] = process.argv.slice(2);
const benchmark = BENCHMARKS[name];
if (name === 'bare-server') {
  // A reference runs in a process of its own, as the server under test does.
  await runBareServer();
} else if (name === EMBEDDED_PROCESS) {
  await runEmbeddedRouter(args);
} else if (benchmark === undefined) {
  console.error(`usage: npm run bench -- NAME, where NAME is one of: ${Object.keys(BENCHMARKS).join(', ')}`);
  process.exitCode = 1;
} else {
  await benchmark(args);
}
