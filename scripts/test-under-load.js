// Runs the tests on a busy machine: `npm run test:load -- --load 20 --nice 19 test/hub`. Limits in tests are there to end
// what hangs. A test that fails here measures speed, or waits for a fixed time instead of an event.
//
// Every thread that burns CPU time is in this process, so none of them outlives it.
import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';

const { values, positionals } = parseArgs({
  options: {
    load: { type: 'string', default: '20' },
    nice: { type: 'string', default: '0' },
    long: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
if (values.help) {
  console.log(`usage: npm run test:load -- [--load THREADS] [--nice LEVEL] [--long] [TEST]...

Runs the tests, or those whose path contains TEST, while THREADS threads use all CPU time that they get (default 20). With
--nice, the tests yield to the threads and to other programs (0 to 19, default 0). With --long, the tests are those of
\`npm run test:long\`.`);
  process.exit(0);
}
const wrong = [
  ...(isInteger(values.load, 0, 1000) ? [] : ['--load must be an integer from 0 to 1000']),
  ...(isInteger(values.nice, 0, 19) ? [] : ['--nice must be an integer from 0 to 19']),
];
if (wrong.length > 0) {
  console.error(wrong.join('\n'));
  process.exit(2);
}

for (let i = 0; i < Number(values.load); i++) new Worker('for (;;) ;', { eval: true }).unref();
const config = values.long ? ['--config', 'vitest.config.long.ts'] : [];
const vitest = spawn('nice', ['-n', values.nice, 'vitest', 'run', ...config, ...positionals], {
  stdio: 'inherit',
});
// In a terminal, Ctrl-C reaches Vitest too. This process only waits for it.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => vitest.kill('SIGTERM'));
vitest.once('error', (error) => {
  console.error(`cannot start Vitest: ${error.message}; run this with \`npm run test:load\``);
  process.exit(1);
});
vitest.once('exit', (code, signal) => {
  if (signal !== null) console.error(`Vitest was ended by ${signal}`);
  process.exit(code ?? 1);
});

function isInteger(text, least, most) {
  return /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most;
}
