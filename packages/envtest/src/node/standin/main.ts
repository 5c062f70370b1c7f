/** A separate bundle, so that a hundred stand-ins on one machine do not each load the whole program. */
import { runStandIn } from './run.ts';

const [option, file] = process.argv.slice(2);
if (option !== '--config' || file === undefined) {
  console.error('usage: stand-in --config FILE');
  process.exitCode = 2;
} else await runStandIn(file);
