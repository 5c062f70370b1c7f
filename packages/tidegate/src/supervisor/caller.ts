import { existsSync, realpathSync } from 'node:fs';
import { delimiter, join, relative, resolve } from 'node:path';
import { quotePath } from '@tidegate/disk';

/** The state directory of commands without `--state`. */
export const DEFAULT_STATE = '.tidegate';

/** Where and how this program was started. */
interface Started {
  script: string;
  folder: string;
  path: string;
}

/** The command line of another command for the same cluster, for hints that users can copy. */
export function callerFor(state: string, started: Started = thisProcess()): (command: string) => string {
  const program = quotePath(programOf(started));
  const isDefault = resolve(started.folder, state) === resolve(started.folder, DEFAULT_STATE);
  const flags = isDefault ? [] : ['--state', quotePath(state)];
  return (command) => [program, command, ...flags].join(' ');
}

const thisProcess = (): Started => ({
  script: process.argv[1] ?? '',
  folder: process.cwd(),
  path: process.env.PATH ?? '',
});

/** npm adds such folders to the PATH of the scripts that it runs, for example in `npm start`. The user's shell has none. */
const OF_NPM = join('node_modules', '.bin');

/** The shortest word that starts this program from the current folder. */
function programOf({ script, folder, path }: Started): string {
  const found = path
    .split(delimiter)
    .filter((directory) => !directory.endsWith(OF_NPM))
    .map((directory) => join(directory, 'tidegate'))
    .find((file) => existsSync(file));
  if (found !== undefined && existsSync(script) && realpathSync(found) === realpathSync(script))
    return 'tidegate';
  const near = relative(folder, script);
  return near.startsWith('..') || near === '' ? script : near;
}
