// Fails when a source folder with four or more files does not say what it owns. A reader opens the README or the index
// first, so one of the two must begin with an explanation.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const MIN_FILES = 4;

const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'packages', 'test', 'bench'], {
  cwd: ROOT,
  encoding: 'utf8',
});
const filesOf = new Map();
for (const path of tracked.split('\n')) {
  if (
    !/^(packages\/[^/]+\/src|test|bench)\/.*\.(ts|lua)$/.test(path) ||
    /\.test\.ts$/.test(path) ||
    !existsSync(join(ROOT, path))
  )
    continue;
  const folder = dirname(path);
  filesOf.set(folder, [...(filesOf.get(folder) ?? []), basename(path)]);
}

for (const [folder, files] of filesOf) {
  if (files.length < MIN_FILES || isExplained(folder)) continue;
  console.error(
    `${folder}: ${files.length} files and no explanation: begin index.ts with a comment, or add a README.md, ` +
      'that says what the folder owns and walks one request or reconcile through it',
  );
  process.exitCode = 1;
}

function isExplained(folder) {
  if (existsSync(join(ROOT, folder, 'README.md'))) return true;
  const index = join(ROOT, folder, 'index.ts');
  return existsSync(index) && readFileSync(index, 'utf8').startsWith('/**');
}
