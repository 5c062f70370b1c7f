/**
 * Terminals for `kubectl exec -t`. Node cannot create a terminal, so the program `script` does: it runs a command in a
 * new terminal and copies its own input and output.
 */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { TerminalSize } from './channels.ts';

/** The command line that runs a command in a new terminal, with the exit code of the command. */
export const inTerminal = (command: string[]): string[] => [
  'script',
  ...['--quiet', '--flush', '--return'],
  ...['--command', `exec ${command.map(quoted).join(' ')}`],
  '/dev/null',
];

/** `script` takes one text for the shell. In single quotes, a shell interprets no character. */
const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** Sets the size of the terminal of a `script` process. The kernel then notifies the programs in it. */
export function resizeTerminal(pid: number, { width, height }: TerminalSize): void {
  const terminal = terminalOf(pid);
  if (terminal === undefined) return;
  const args = ['-F', terminal, 'rows', String(height), 'cols', String(width)];
  // The command may have ended in the meantime.
  execFile('stty', args, () => {});
}

/** The kernel shows the number of the terminal in the information about its other end. */
function terminalOf(pid: number): string | undefined {
  try {
    for (const fd of readdirSync(`/proc/${pid}/fd`)) {
      if (!readlinkSync(`/proc/${pid}/fd/${fd}`).endsWith('/ptmx')) continue;
      const number = /tty-index:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8'))?.[1];
      if (number !== undefined) return `/dev/pts/${number}`;
    }
  } catch {
    // The process has ended.
  }
  return undefined;
}
