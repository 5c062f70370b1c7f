import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger, systemClock } from '@tidegate/kube';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { filesOf } from './files.ts';
import { OpenLog } from './open-log.ts';
import { chosenStretches, followLog, type Piece, readStretch } from './reading.ts';

const never = new AbortController().signal;
let directory: string;
let log: OpenLog;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tidegate-reading-'));
  const files = filesOf(directory, 0);
  writeFileSync(files.current.output, '');
  log = new OpenLog({ files, maxBytes: 100, clock: systemClock, log: silentLogger });
});

afterEach(() => {
  log.end();
  rmSync(directory, { recursive: true });
});

/** Writes a line of 60 bytes and looks at once, which rotates the log at every second line. */
function write(letter: string): string {
  const line = `${letter.repeat(59)}\n`;
  appendFileSync(log.files.current.output, line);
  log.look();
  return line;
}

const chosen = () => chosenStretches({ files: log.files, log }, {}, systemClock.now());
const textOf = (pieces: Iterable<Piece>): string => [...pieces].map(({ bytes }) => String(bytes)).join('');

test('a follower misses nothing when the log is rotated while it reads', async () => {
  const pieces = followLog(log, chosen()[1], never);
  let text = '';
  let written = '';
  for (const letter of 'abcdefgh') {
    written += write(letter);
    const next = pieces.next();
    written += write(letter.toUpperCase());
    text += String((await next).value?.bytes);
    while (text.length < written.length) text += String((await pieces.next()).value?.bytes);
  }
  expect(text).toBe(written);
});

test('a follower that is too slow goes on with what is left', async () => {
  const pieces = followLog(log, chosen()[1], never);
  for (const letter of 'abcdef') write(letter);
  log.end();
  let text = '';
  for await (const { bytes } of pieces) text += String(bytes);
  expect(text).toBe(`${'e'.repeat(59)}\n${'f'.repeat(59)}\n`);
});

test('a section is read to its end after it was rotated', () => {
  const line = write('a');
  const [, current] = chosen();
  write('b');
  expect(textOf(readStretch({ files: log.files, log }, current))).toBe(line);
});
