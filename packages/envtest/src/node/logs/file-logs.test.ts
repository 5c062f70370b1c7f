import { appendFileSync, writeSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { smallDisk } from '@tidegate/disk/testing';
import { type Clock, silentLogger, systemClock } from '@tidegate/kube';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ContainerPlace, LogOptions } from '../contracts.ts';
import { FileLogs } from './file-logs.ts';

let directory: string;
let place: ContainerPlace;
let now: number;
let logs: FileLogs;
/** Real timers, but the test sets the time. */
const clock: Clock = { ...systemClock, now: () => now };

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-logs-'));
  place = { podDirectory: directory, directory, root: directory, logDirectory: join(directory, 'logs') };
  now = Date.UTC(2026, 0, 1);
  logs = open();
});

afterEach(async () => {
  await logs.close();
  await rm(directory, { recursive: true, force: true });
});

const open = (maxBytes?: number): FileLogs => new FileLogs({ clock, log: silentLogger, maxBytes });
const never = new AbortController().signal;

async function read(
  options: LogOptions = {},
  which: 'current' | 'previous' = 'current',
  signal: AbortSignal = never,
): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of logs.read(place, which, options, signal)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Appends like a process does; reading records the time. */
async function write(fd: number, text: string): Promise<void> {
  writeSync(fd, text);
  await read();
}

describe('the log of a container', () => {
  test('is read completely, from its end, and up to a limit', async () => {
    const { fd, close } = await logs.outputFor(place, 0);
    await write(fd, 'one\ntwo\nthree\n');
    expect(await read()).toBe('one\ntwo\nthree\n');
    expect(await read({ tailLines: 2 })).toBe('two\nthree\n');
    expect(await read({ tailLines: 0 })).toBe('');
    expect(await read({ tailLines: 9 })).toBe('one\ntwo\nthree\n');
    expect(await read({ limitBytes: 5 })).toBe('one\nt');
    await write(fd, 'unfinished');
    expect(await read({ tailLines: 2 })).toBe('three\nunfinished');
    await close();
  });

  test('has timestamps, also for the next agent', async () => {
    const { fd, close } = await logs.outputFor(place, 0);
    await write(fd, 'one\n');
    now += 60_000;
    await write(fd, 'two\nthree\n');
    const expected =
      '2026-01-01T00:00:00.000000000Z one\n2026-01-01T00:01:00.000000000Z two\n2026-01-01T00:01:00.000000000Z three\n';
    expect(await read({ timestamps: true })).toBe(expected);
    now += 10_000;
    expect(await read({ sinceSeconds: 10 })).toBe('two\nthree\n');
    expect(await read({ sinceSeconds: 5 })).toBe('');
    expect(await read({ sinceTime: '2026-01-01T00:00:30Z', tailLines: 1 })).toBe('three\n');
    expect(await read({ sinceTime: '2026-01-01T00:00:30Z', tailLines: 5 })).toBe('two\nthree\n');

    await logs.close();
    logs = open();
    writeSync(fd, 'four\n');
    await logs.resume(place, 0);
    expect(await read({ timestamps: true })).toBe(`${expected}2026-01-01T00:01:10.000000000Z four\n`);
    await close();
  });

  test('is followed until the container has ended', async () => {
    const { fd, close } = await logs.outputFor(place, 0);
    await write(fd, 'one\ntwo\n');
    const pieces = logs.read(place, 'current', { follow: true, tailLines: 1, timestamps: true }, never);
    expect(String((await pieces.next()).value)).toBe('2026-01-01T00:00:00.000000000Z two\n');
    writeSync(fd, 'thr');
    writeSync(fd, 'ee\nfour');
    writeSync(fd, '\n');
    await logs.ended(place);
    let rest = '';
    for await (const chunk of pieces) rest += chunk;
    expect(rest.replaceAll(/^\S+ /gm, '')).toBe('three\nfour\n');
    expect(await read({ follow: true })).toBe('one\ntwo\nthree\nfour\n');
    await close();
  });

  test('wakes followers as soon as something is written, until they leave', async () => {
    const { fd, close } = await logs.outputFor(place, 0);
    const leave = new AbortController();
    const pieces = logs.read(place, 'current', { follow: true }, leave.signal);
    for (const text of ['a\n', 'b\n', 'c\n']) {
      const next = pieces.next();
      writeSync(fd, text);
      expect(String((await next).value)).toBe(text);
    }
    const last = pieces.next();
    leave.abort();
    expect(await last).toMatchObject({ done: true });
    await close();
  });

  test('keeps the previous attempt and no older one', async () => {
    for (const attempt of [0, 1, 2]) {
      const { fd, close } = await logs.outputFor(place, attempt);
      await write(fd, `attempt ${attempt}\n`);
      await close();
    }
    expect(await read()).toBe('attempt 2\n');
    expect(await read({ timestamps: true }, 'previous')).toBe('2026-01-01T00:00:00.000000000Z attempt 1\n');
    await expect(stat(join(place.logDirectory, '0.log'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('is rotated when it is large, and followed across the rotation', async () => {
    logs = open(100);
    const { fd, close } = await logs.outputFor(place, 0);
    const following = read({ follow: true });
    const lines = Array.from({ length: 60 }, (_, i) => `line ${i}\n`);
    for (const line of lines) await write(fd, line);
    expect((await stat(join(place.logDirectory, '0.log'))).size).toBeLessThan(100);
    const text = await read();
    expect(text.length).toBeGreaterThan(90);
    expect(text.length).toBeLessThan(220);
    expect(lines.join('').endsWith(text)).toBe(true);
    expect(await read({ tailLines: 12 })).toBe(lines.slice(-12).join(''));
    expect((await read({ tailLines: 12, timestamps: true })).match(/2026/g)).toHaveLength(12);
    await logs.ended(place);
    expect(await following).toBe(lines.join(''));
    await close();
  });

  test('is empty when nothing was written or the directory is gone', async () => {
    expect(await read()).toBe('');
    await logs.resume(place, 3);
    appendFileSync(join(place.logDirectory, '3.log'), 'x');
    await rm(place.logDirectory, { recursive: true });
    await logs.ended(place);
    expect(await read()).toBe('');
  });
});

describe('a full disk', () => {
  test('hides nothing of a log, and the log is rotated when there is space', async () => {
    const disk = await smallDisk();
    place = { ...place, logDirectory: join(disk.directory, 'logs') };
    logs = open(1 << 20);
    const { fd, close } = await logs.outputFor(place, 0);
    const line = `${'x'.repeat(1023)}\n`;
    disk.fill(600 << 10);
    writeSync(fd, line.repeat(500));
    disk.fill();
    // The agent adopts the container again, as after a restart, and cannot store anything.
    await logs.close();
    await logs.resume(place, 0);
    expect(await read()).toBe(line.repeat(500));

    disk.free();
    writeSync(fd, line.repeat(700));
    disk.fill(100 << 10);
    expect(await read()).toBe(line.repeat(1200));
    expect(await readdir(place.logDirectory)).not.toContain('0.log.1.tmp');

    disk.free();
    writeSync(fd, line.repeat(200));
    expect(await read()).toBe(line.repeat(1400));
    expect((await stat(join(place.logDirectory, '0.log'))).size).toBe(0);
    await close();
    await logs.close();
  });
});
