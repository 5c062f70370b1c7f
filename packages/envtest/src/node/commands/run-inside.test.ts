import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Inside } from '../contracts.ts';
import { signalOne, startTicksOf } from '../proc/index.ts';
import { eventually } from '../testing/eventually.ts';
import { runInside } from './run-inside.ts';

const inside: Inside = {
  run: (command) => ({ command, env: { PATH: process.env.PATH ?? '' }, cwd: '/' }),
};
const PATIENT = { timeoutMs: 600_000 };

test('reports the output and the exit code of a command', async () => {
  const words = ['sh', '-c', 'echo one; echo two >&2; exit 3'];
  const ran = await runInside(inside, words, PATIENT);
  expect(ran).toMatchObject({ code: 3, timedOut: false });
  expect(ran.output.split('\n').sort()).toEqual(['', 'one', 'two']);
  expect(await runInside(inside, ['sh', '-c', 'kill -9 $$'], PATIENT)).toMatchObject({ code: 137 });
});

test('does not wait for a process that the command leaves in the background', async () => {
  const { code, output } = await runInside(inside, ['sh', '-c', 'sleep 600 & echo $!'], PATIENT);
  expect(code).toBe(0);
  const pid = Number(output);
  expect(startTicksOf(pid)).toBeDefined();
  signalOne(pid, 'SIGKILL');
});

test('kills a command with its children when it is aborted', async () => {
  const stop = new AbortController();
  const file = join(await mkdtemp(join(tmpdir(), 'run-inside-')), 'pid');
  const running = runInside(inside, ['sh', '-c', `sleep 600 & echo $! | tee ${file}; wait`], {
    ...PATIENT,
    signal: stop.signal,
  });
  // The output is reported at the end only.
  await eventually(async () => expect(await readFile(file, 'utf8')).toMatch(/\n$/));
  const child = Number(await readFile(file, 'utf8'));
  expect(startTicksOf(child)).toBeDefined();
  stop.abort();
  expect(await running).toMatchObject({ code: 137, output: `${child}\n` });
  await eventually(async () => expect(startTicksOf(child)).toBeUndefined());
});
