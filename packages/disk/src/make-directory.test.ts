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

it('creates missing directories for the owner only, and keeps existing ones', () => {
  const path = join(root, 'a/b/c');
  makeDirectory(path);
  makeDirectory(path);
  expect(existsSync(path)).toBe(true);
  expect(statSync(join(root, 'a')).mode & 0o777).toBe(0o700);
});

it('rejects a file, and a path below a file', () => {
  writeFileSync(join(root, 'file'), '');
  expect(() => makeDirectory(join(root, 'file'))).toThrow('EEXIST');
  expect(() => makeDirectory(join(root, 'file/a/b'))).toThrow('ENOTDIR');
});

it('fails where no directory can be created', () => {
  expect(() => makeDirectory('/proc/hub/state')).toThrow('ENOENT');
});
