import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { smallDisk } from '@tidegate/disk/testing';
import pino from 'pino';
import { expect, it } from 'vitest';
import { LogOutput } from './log-output.ts';

const messages = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line).msg as string);

it('drops lines while the disk is full, and reports how many once there is space', async () => {
  const disk = await smallDisk();
  const file = join(disk.directory, 'log');
  const fd = openSync(file, 'a');
  const output = new LogOutput(fd);
  const log = pino({}, output);
  try {
    log.info('first');
    disk.fill();
    // Longer than the rest of the page that the file has already, so that the first of them is cut off in the middle.
    for (let line = 1; line <= 3; line += 1) log.info(`dropped ${'x'.repeat(4096)}`);
    expect(output.lost).toBe(3);
    disk.free();
    log.info('second');
    log.info('third');
  } finally {
    closeSync(fd);
  }
  expect(output.lost).toBe(0);
  expect(messages(readFileSync(file, 'utf8'))).toEqual([
    'first',
    'dropped 3 lines of this log, because writing failed: ENOSPC: no space left on device, write',
    'second',
    'third',
  ]);
});

it('reports lost lines also if no other line follows', async () => {
  const disk = await smallDisk();
  const file = join(disk.directory, 'log');
  const fd = openSync(file, 'a');
  try {
    const output = new LogOutput(fd);
    disk.fill();
    output.write('lost\n');
    disk.free();
    await expect.poll(() => readFileSync(file, 'utf8')).toContain('dropped one line of this log');
  } finally {
    closeSync(fd);
  }
});

it('continues after an output that is closed or broken', () => {
  const written: string[] = [];
  let code: string | undefined = 'EPIPE';
  const output = new LogOutput((bytes) => {
    if (code !== undefined) throw Object.assign(new Error(code), { code });
    return written.push(String(bytes)) && bytes.length;
  });
  output.write('a\n');
  code = 'EIO';
  output.write('b\n');
  code = undefined;
  output.write('c\n');
  expect(written.join('')).toMatch(/dropped 2 lines of this log, because writing failed: EIO"}\nc\n$/);
});

it('waits for a slow reader of a pipe, but not for ever', () => {
  let refusals = 3;
  const written: string[] = [];
  const output = new LogOutput((bytes) => {
    if (refusals > 0) {
      refusals -= 1;
      throw Object.assign(new Error('EAGAIN'), { code: 'EAGAIN' });
    }
    // One byte at a time, as a slow pipe may accept it.
    written.push(String(bytes.subarray(0, 1)));
    return 1;
  });
  output.write('slow\n');
  expect(written.join('')).toBe('slow\n');
  refusals = Number.POSITIVE_INFINITY;
  output.write('never\n');
  expect(output.lost).toBe(1);
});
