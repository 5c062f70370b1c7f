import { quotePath } from '@tidegate/disk';
import { Command } from 'commander';
import { stopCluster, wipeState } from '../supervisor/index.ts';
import { stateOption } from './options.ts';
import { fail } from './process.ts';
import { stateOf } from './state.ts';

export function downCommand(): Command {
  return new Command('down')
    .description('Stop the embedded cluster')
    .addOption(stateOption())
    .option('--wipe', 'also delete its state: objects, logs and credentials')
    .addHelpText('after', '\nExample:\n  tidegate down --wipe')
    .action(run);
}

async function run(options: { state: string; wipe?: boolean }): Promise<void> {
  const state = stateOf(options);
  const print = (line: string): void => console.log(line);
  try {
    const wasRunning = await stopCluster(state, print);
    print(wasRunning ? 'Stopped.' : `No cluster is running in ${quotePath(state.path)}.`);
    if (options.wipe !== true) return;
    const left = await wipeState(state);
    print(
      `Removed ${quotePath(state.path)}${left.length === 0 ? '' : `, except files that tidegate did not create: ${left.join(', ')}`}.`,
    );
  } catch (error) {
    fail(error);
  }
}
