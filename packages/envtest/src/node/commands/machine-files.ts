/** Reads the directories and mounts of this machine for `mount-plan.ts`. */
import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { posix } from 'node:path';
import type { MachineFiles } from './mount-plan.ts';

/** Flags that a less privileged mount must keep. The others, for example `relatime`, are kept by the kernel. */
const KEPT_FLAGS = ['nosuid', 'nodev', 'noexec'];

export const machineFiles: MachineFiles = {
  list(directory) {
    try {
      return readdirSync(directory, { withFileTypes: true }).map((entry) => ({
        name: entry.name,
        isDirectory: entry.isDirectory(),
        ...(entry.isSymbolicLink() ? { target: readlinkSync(posix.join(directory, entry.name)) } : {}),
      }));
    } catch {
      return []; // The directory does not exist, or the user may not read it.
    }
  },

  resolve(path) {
    let existing = posix.join('/', path).replace(/(?<=.)\/$/, '');
    const rest: string[] = [];
    for (;;) {
      try {
        return posix.join(realpathSync(existing), ...rest);
      } catch {
        rest.unshift(posix.basename(existing));
        existing = posix.dirname(existing);
      }
    }
  },

  mounts: () => parseMounts(readFileSync('/proc/self/mountinfo', 'utf8')),
};

/** Parses `/proc/self/mountinfo`. Spaces and some other characters of paths are written in octal. */
export function parseMounts(text: string): { path: string; flags: string[] }[] {
  const byPath = new Map<string, string[]>();
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [, , , , path = '', options = ''] = line.split(' ');
    const unescaped = path.replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    // A later mount at the same path hides the earlier one.
    byPath.set(
      unescaped,
      options.split(',').filter((option) => KEPT_FLAGS.includes(option)),
    );
  }
  return [...byPath].map(([path, flags]) => ({ path, flags }));
}
