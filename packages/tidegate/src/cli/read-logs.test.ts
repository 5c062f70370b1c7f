import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LogReader } from './read-logs.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-logs-'));
});
afterEach(() => rm(directory, { recursive: true }));

const log = (component: string) => ({ component, file: join(directory, `${component}.log`) });
const at = (time: number, msg: string): string => `${JSON.stringify({ level: 30, time, msg })}\n`;
const read = async (reader: LogReader): Promise<string[]> =>
  (await reader.read([log('a'), log('b')])).map(
    ({ component, line }) => `${component}: ${/"msg":"(.*)"/.exec(line)?.[1] ?? line}`,
  );

it('mixes logs in the order of time, and keeps lines without a time behind the line before', async () => {
  await writeFile(log('a').file, `${at(10, 'first')}${at(30, 'third')}    at f (a.js:1)\n`);
  await writeFile(log('b').file, `starting\n${at(20, 'second')}${at(40, 'fourth')}`);
  expect(await read(new LogReader())).toEqual([
    'b: starting',
    'a: first',
    'b: second',
    'a: third',
    'a:     at f (a.js:1)',
    'b: fourth',
  ]);
});

it('returns every line once, when it is complete', async () => {
  const reader = new LogReader();
  expect(await read(reader)).toEqual([]);
  await writeFile(log('a').file, `${at(1, 'one')}{"level":30,"time":2,`);
  expect(await read(reader)).toEqual(['a: one']);
  await appendFile(log('a').file, '"msg":"two"}\n');
  await writeFile(log('b').file, at(3, 'new'));
  expect(await read(reader)).toEqual(['a: two', 'b: new']);
  expect(await read(reader)).toEqual([]);
});

it('reads a log that was replaced or truncated from its start', async () => {
  const reader = new LogReader();
  await writeFile(log('a').file, at(1, 'old'));
  await read(reader);
  await rename(log('a').file, `${log('a').file}.1`);
  await writeFile(log('a').file, at(2, 'new run'));
  expect(await read(reader)).toEqual(['a: new run']);
  await writeFile(log('a').file, at(3, 'x'));
  expect(await read(reader)).toEqual(['a: x']);
});
