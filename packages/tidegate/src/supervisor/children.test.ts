import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { smallDisk } from '@tidegate/disk/testing';
import { expect, it, onTestFinished } from 'vitest';
import { Children } from './children.ts';

const RUNS =
  "process.send('ready'); process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 1000);";

it('reports once that the record cannot be written, and once that it is written again', async () => {
  const disk = await smallDisk();
  const file = join(disk.directory, 'children.json');
  const notes: string[] = [];
  const children = new Children(file, { step: () => {}, note: (line) => notes.push(line) });
  onTestFinished(async () => {
    children.kill();
    await children.close();
  });
  const start = (name: string) =>
    children.start(
      { name, command: [process.execPath, '-e', RUNS], log: join(tmpdir(), `${name}.log`), stopMs: 5000 },
      new AbortController().signal,
    );
  disk.fill();
  for (const name of ['a', 'b', 'c']) await start(name);
  await expect.poll(() => notes).toHaveLength(1);
  expect(notes[0]).toMatch(/^cannot record the running processes: .*no space left/);
  disk.free();
  await start('d');
  await expect.poll(() => notes).toEqual([notes[0], 'the running processes are recorded again']);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toHaveLength(4);
});
