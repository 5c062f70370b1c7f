/** Reads the process table from `/proc`. */
import { readdirSync, readFileSync } from 'node:fs';

/** When the process started, in clock ticks since boot; undefined when it has ended. */
export function startTicksOf(pid: number): string | undefined {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the command name in parentheses, which may contain any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  // A zombie has ended; only its parent has not read its exit code yet.
  return state === 'Z' || state === 'X' ? undefined : fields[19];
}

/** The environment variable that names the container of a process. */
export const CONTAINER_VARIABLE = 'TIDEGATE_CONTAINER';
/** The environment variable that names the agent with which a process ends. */
export const AGENT_VARIABLE = 'TIDEGATE_AGENT';

const afterEquals = (variable: string): string => variable.slice(variable.indexOf('=') + 1);

/** A container process. `agent` is set if it ends with its agent, see `commands/watchdog.ts`. */
interface ContainerProcess {
  pid: number;
  container: string;
  agent: string | undefined;
}

/** All container processes below `directory`, with the container of each. */
export const processesBelow = (directory: string): ContainerProcess[] =>
  [...containerProcesses()].filter(({ container }) => container.startsWith(`${directory}/`));

/** The container processes of all nodes on this machine, as far as this user may read them; usually the newest first. */
export function* containerProcesses(): Iterable<ContainerProcess> {
  const prefix = `${CONTAINER_VARIABLE}=/`;
  for (const name of readdirSync('/proc').reverse()) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const variables = read(`/proc/${pid}/environ`)?.split('\0') ?? [];
    const container = variables.find((entry) => entry.startsWith(prefix));
    if (container === undefined) continue;
    const agent = variables.find((entry) => entry.startsWith(`${AGENT_VARIABLE}=`));
    yield { pid, container: afterEquals(container), agent: agent === undefined ? agent : afterEquals(agent) };
  }
}

/** Undefined when the process has ended, or belongs to another user and may not be read. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
