import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { TestProcess } from '../../../../../test/support/process.ts';
import { startTicksOf } from '../proc/index.ts';
import { eventually } from '../testing/eventually.ts';
import { startWatchdog } from './watchdog.ts';

const sleeper = (agent: string): TestProcess =>
  new TestProcess(['sleep', '600'], {
    env: { PATH: process.env.PATH ?? '', TIDEGATE_AGENT: agent },
    detached: true,
  });

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
    await others.kill('SIGKILL');
    await mine.kill('SIGKILL');
  }
});
