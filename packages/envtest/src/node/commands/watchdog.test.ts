import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { startTicksOf } from '../proc/index.ts';
import { eventually } from '../testing/eventually.ts';
import { startWatchdog } from './watchdog.ts';

function sleeper(agent: string): { pid: number; end(): void } {
  const env = { PATH: process.env.PATH ?? '', TIDEGATE_AGENT: agent };
  const child = spawn('sleep', ['600'], { env, detached: true, stdio: 'ignore' });
  return { pid: child.pid!, end: () => void child.kill('SIGKILL') };
}

test('ends the commands of its agent, and no others', async () => {
  const [agent, other] = [randomUUID(), randomUUID()];
  const close = startWatchdog(agent);
  const mine = sleeper(agent);
  const others = sleeper(other);
  try {
    await close();
    await eventually(async () => expect(startTicksOf(mine.pid)).toBeUndefined());
    expect(startTicksOf(others.pid)).toBeDefined();
  } finally {
    others.end();
    mine.end();
  }
});
