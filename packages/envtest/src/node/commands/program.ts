/** Whether the program of a command exists in a container, in the words of container runtimes. */
import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Inside } from '../contracts.ts';
import { runInside } from './run-inside.ts';

/** The exit codes of shells, and of runtimes for `exec`. */
const EXIT_NOT_EXECUTABLE = 126;
const EXIT_NOT_FOUND = 127;

/**
 * A shell function: exits with an explanation if the command in its arguments cannot be started. Otherwise the tool that
 * starts it would report the failure, as its own.
 */
export const CHECK_PROGRAM = `
cannot_start() {
  echo "unable to start container process: exec: \\"$2\\": $3" >&2
  exit "$1"
}
check_program() {
  case $1 in
  */*)
    [ -e "$1" ] || cannot_start ${EXIT_NOT_FOUND} "$1" "stat $1: no such file or directory"
    [ ! -d "$1" ] || cannot_start ${EXIT_NOT_EXECUTABLE} "$1" "is a directory"
    [ -x "$1" ] || cannot_start ${EXIT_NOT_EXECUTABLE} "$1" "permission denied"
    ;;
  *)
    (IFS=:; for folder in $PATH; do [ -x "$folder/$1" ] && [ ! -d "$folder/$1" ] && exit 0; done; exit 1) ||
      cannot_start ${EXIT_NOT_FOUND} "$1" 'executable file not found in $PATH'
    ;;
  esac
}
`;

const CHECK_MS = 30_000;

/**
 * Why the program of a container's command cannot be started; undefined if it can. A program of the machine is visible in
 * all containers, so that only others need a look from inside.
 */
export async function programProblem(
  inside: Inside,
  program: string,
  { PATH = '' }: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const places = program.startsWith('/') ? [program] : PATH.split(':').map((folder) => join(folder, program));
  const isOfMachine = program.startsWith('/') || !program.includes('/');
  if (isOfMachine && places.some(isProgram)) return undefined;
  const command = ['/bin/sh', '-c', `${CHECK_PROGRAM}check_program "$1"`, 'sh', program];
  const { code, output } = await runInside(inside, command, { timeoutMs: CHECK_MS });
  return code === EXIT_NOT_FOUND || code === EXIT_NOT_EXECUTABLE ? output.trim() : undefined;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
