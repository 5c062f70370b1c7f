import { lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeFileAtomically } from './atomic-file.ts';
import { smallDisk, temporaryDirectory } from './testing.ts';

it('replaces a file, and creates missing directories', async () => {
  const file = join(await temporaryDirectory(), 'a/b/file');
  writeFileAtomically(file, 'one', 0o600);
  writeFileAtomically(file, 'two', 0o600);
  expect(readFileSync(file, 'utf8')).toBe('two');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(file, '..'))).toEqual(['file']);
});

it('does not write to a link, or to a file with another mode, that is in place of its temporary file', async () => {
  const directory = await temporaryDirectory();
  const [file, elsewhere] = [join(directory, 'key'), join(directory, 'elsewhere')];
  const temporary = `${file}.${process.pid}.tmp`;
  writeFileSync(elsewhere, 'untouched');
  symlinkSync(elsewhere, temporary);
  writeFileAtomically(file, 'secret', 0o600);
  expect(readFileSync(elsewhere, 'utf8')).toBe('untouched');
  expect(lstatSync(file).isFile()).toBe(true);
  writeFileSync(temporary, '', { mode: 0o644 });
  writeFileAtomically(file, 'secret', 0o600);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it('keeps the old content, and leaves no temporary file, when there is space for only a part of the new', async () => {
  const disk = await smallDisk();
  const file = join(disk.directory, 'file');
  writeFileSync(file, 'old');
  disk.fill(64 << 10);
  expect(() => writeFileAtomically(file, 'x'.repeat(128 << 10), 0o600)).toThrow(
    `no space left on the file system of ${disk.directory}: free some space and try again`,
  );
  expect(readFileSync(file, 'utf8')).toBe('old');
  expect(readdirSync(disk.directory).sort()).toEqual(['file', 'filler']);

  disk.free();
  writeFileAtomically(file, 'new', 0o600);
  expect(readFileSync(file, 'utf8')).toBe('new');
});
