/** Processes as `/proc` shows them. */
import { readdirSync, readFileSync } from 'node:fs';

/** When the process started, in ticks since the machine did; undefined when it has ended. */
export function startTicksOf(pid: number): string | undefined {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the name, in parentheses, and may have any character in it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  // A zombie has ended; it only waits for its parent to notice.
  return state === 'Z' || state === 'X' ? undefined : fields[19];
}

/** The variable by which a process knows, and everybody can see, which container it belongs to. */
export const CONTAINER_VARIABLE = 'TIDEGATE_CONTAINER';

/** All processes of containers below `directory`, with the container that each belongs to. */
export function processesBelow(directory: string): { pid: number; container: string }[] {
  const prefix = `${CONTAINER_VARIABLE}=${directory}/`;
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid)) return [];
    const variable = read(`/proc/${pid}/environ`)
      ?.split('\0')
      .find((entry) => entry.startsWith(prefix));
    if (variable === undefined) return [];
    return [{ pid, container: variable.slice(CONTAINER_VARIABLE.length + 1) }];
  });
}

/** Processes end at any time, and those of others do not let us look. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
