/**
 * Ends the commands of containers when their agent ends without stopping them, for example by `kill -9`. Stand-ins and
 * the programs of `images.yaml` continue, and the next agent adopts them. The exit code of an adopted process is lost,
 * and a Job must not depend on a lost exit code, so the commands of containers end and are started again.
 */
import { spawn } from 'node:child_process';
import { AGENT_VARIABLE, startTicksOf } from '../proc/index.ts';

/** Identifies this agent. A pid is reused, but not with the same start time. */
export const agentIdentity = (): string => `${process.pid}-${startTicksOf(process.pid) ?? ''}`;

/**
 * The input is a pipe whose other end only the agent has, so it ends with the agent. Processes that a dying process
 * has just started are found in the next round.
 */
const SCRIPT = `
while read -r line; do :; done
for round in 1 2 3; do
  for file in $(grep -alsF -- "$1" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    kill -KILL "\${pid%/environ}" 2>/dev/null
  done
done
`;

/** Starts the watchdog of an agent. The result ends it, and with it every command that is still running. */
export function startWatchdog(agent: string): () => Promise<void> {
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'tidegate-watchdog', `${AGENT_VARIABLE}=${agent}`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // In a session of its own: Ctrl-C in the terminal of the agent must not end it first.
    detached: true,
    env: { PATH: '/usr/bin:/bin' },
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.on('error', () => {}); // There is no /bin/sh, so no command runs either.
  child.unref();
  return async () => {
    child.stdin.end();
    await ended;
  };
}
