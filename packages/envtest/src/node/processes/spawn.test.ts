import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@tidegate/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CONTAINER_VARIABLE, processesBelow, startTicksOf } from '../proc/index.ts';
import { eventually } from '../testing/eventually.ts';
import { follow, launch } from './spawn.ts';

let directory: string;
let output: number;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-spawn-'));
  output = openSync(join(directory, 'out'), 'a');
});
afterAll(async () => {
  closeSync(output);
  await rm(directory, { recursive: true });
});

const run = (code: string, env: Record<string, string> = {}) =>
  launch({ command: [process.execPath, '-e', code], env, cwd: directory, output });

test('writes the output of a process to the file, and reports how it ended', async () => {
  const child = await run('console.log("hello"); process.exit(5)');
  expect(await child.exited).toEqual({ code: 5 });
  expect(await readFile(join(directory, 'out'), 'utf8')).toContain('hello');
  child.signal('SIGKILL'); // It has ended, so no process is signalled.
});

test('signals the process, and kills its children when it ends', async () => {
  const nested = `require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(()=>{},1e3)']);setInterval(()=>{},1e3)`;
  const child = await run(nested, { [CONTAINER_VARIABLE]: `${directory}/x:1` });
  await eventually(() => expect(processesBelow(directory)).toHaveLength(2));
  child.signal('SIGTERM');
  expect(await child.exited).toEqual({ signal: 15 });
  await eventually(() => expect(processesBelow(directory)).toEqual([]));
});

const orderly = `
const { spawn } = require('node:child_process');
spawn(process.execPath, ['-e', 'setInterval(()=>{},1e3)']).once('exit', () => process.exit(1));
process.once('SIGTERM', () => setTimeout(() => process.exit(0), 200));
console.log('both run');
`;

test('sends SIGTERM only to the process, which stops its children itself', async () => {
  const child = await run(orderly, { [CONTAINER_VARIABLE]: `${directory}/y:1` });
  await eventually(async () => expect(await readFile(join(directory, 'out'), 'utf8')).toContain('both run'));
  child.signal('SIGTERM');
  expect(await child.exited).toEqual({ code: 0 });
  await eventually(() => expect(processesBelow(directory)).toEqual([]));
});

test('rejects a program that does not exist', async () => {
  const missing = launch({ command: ['/no/such/program'], env: {}, cwd: directory, output });
  await expect(missing).rejects.toThrow('ENOENT');
});

test('follows a process by pid and start time, and never mistakes another one for it', async () => {
  const child = await run('setInterval(()=>{},1e3)');
  const { pid, startTicks } = child.handle;
  expect(startTicksOf(pid)).toBe(startTicks);
  expect(follow({ pid, startTicks: '1' }, systemClock)).toBeUndefined();
  const followed = follow(child.handle, systemClock)!;
  followed.signal('SIGKILL');
  expect(await followed.exited).toEqual({});
  expect(await child.exited).toEqual({ signal: 9 });
  expect(follow(child.handle, systemClock)).toBeUndefined();
});
