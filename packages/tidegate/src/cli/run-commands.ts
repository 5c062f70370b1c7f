import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { CommandError } from './process.ts';

/** The options with which a user allows the commands of containers to run. */
export interface RunCommandsOptions {
  runCommands?: true;
  runCommandsAsRoot?: true;
}

export const withRunCommandsOptions = (command: Command): Command =>
  command
    .option('--run-commands', 'run the commands of containers as processes of your user')
    .option('--run-commands-as-root', 'the same as root, which --run-commands alone refuses');

/** Whether commands run. Throws for root: a manifest could then change everything on the machine. */
export function runsCommands(
  { runCommands, runCommandsAsRoot }: RunCommandsOptions,
  uid = process.getuid?.(),
): boolean {
  if (runCommandsAsRoot === true) return true;
  if (runCommands === true && uid === 0) {
    throw new CommandError(
      'you are root, and --run-commands would run the commands of every manifest as root; run tidegate as another user, or use --run-commands-as-root if you trust all manifests',
    );
  }
  return runCommands === true;
}

/** What the user must know before the cluster starts. */
export const runCommandsWarning = (): string =>
  `warning: the commands of containers run on this machine as ${userInfo().username}. Apply only manifests that you trust`;
