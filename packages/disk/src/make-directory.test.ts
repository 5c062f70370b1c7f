import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeDirectory } from './make-directory.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tidegate-'));
});
afterEach(() => rmSync(root, { recursive: true }));

it('makes what is missing, for us alone, and leaves what is there', () => {
  const path = join(root, 'a/b/c');
  makeDirectory(path);
  makeDirectory(path);
  expect(existsSync(path)).toBe(true);
  expect(statSync(join(root, 'a')).mode & 0o777).toBe(0o700);
});

it('refuses a file, and what lies below one', () => {
  writeFileSync(join(root, 'file'), '');
  expect(() => makeDirectory(join(root, 'file'))).toThrow('EEXIST');
  expect(() => makeDirectory(join(root, 'file/a/b'))).toThrow('ENOTDIR');
});

it('ends where a directory takes no others', () => {
  expect(() => makeDirectory('/proc/hub/state')).toThrow('ENOENT');
});
