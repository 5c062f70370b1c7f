import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callerFor } from './caller.ts';

let folder: string;
let script: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidegate call '));
  mkdirSync(join(folder, 'bin'));
  script = join(folder, 'bin/tidegate');
  writeFileSync(script, '');
});
afterEach(() => rmSync(folder, { recursive: true }));

it('is a relative path in the folder of the program', () => {
  expect(callerFor('.tidegate', { script, folder, path: '/none' })('down')).toBe('bin/tidegate down');
});

it('needs no option for the default state directory, however it is written', () => {
  const state = join(folder, '.tidegate');
  expect(callerFor(state, { script, folder, path: '/none' })('down')).toBe('bin/tidegate down');
});

it('is an absolute path elsewhere, in quotes if necessary', () => {
  expect(callerFor('a b', { script, folder: '/usr', path: '' })('down')).toBe(
    `'${script}' down --state 'a b'`,
  );
});

it('is the name of a program in the PATH, if that is this program', () => {
  const installed = join(folder, 'usr');
  mkdirSync(installed);
  symlinkSync(script, join(installed, 'tidegate'));
  const path = `/none:${installed}`;
  expect(callerFor('.tidegate', { script, folder: '/usr', path })('cut')).toBe('tidegate cut');
  const other = join(folder, 'other');
  writeFileSync(other, '');
  expect(callerFor('.tidegate', { script: other, folder: '/usr', path })('cut')).toBe(`'${other}' cut`);
});

it('is not a name that only scripts of npm find in their PATH', () => {
  const ofNpm = join(folder, 'node_modules/.bin');
  mkdirSync(ofNpm, { recursive: true });
  symlinkSync(script, join(ofNpm, 'tidegate'));
  expect(callerFor('.tidegate', { script, folder, path: ofNpm })('status')).toBe('bin/tidegate status');
});
