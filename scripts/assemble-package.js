// Run by `npm pack` in packages/tidegate: puts the documents, manifests and examples of the repository into the
// package, and takes them out again afterwards (`--clean`).
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const clean = process.argv.includes('--clean');
for (const name of [
  'deploy',
  'docs',
  'examples',
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'LICENSE',
]) {
  const target = join(root, 'packages/tidegate', name);
  rmSync(target, { recursive: true, force: true });
  if (!clean) cpSync(join(root, name), target, { recursive: true });
}
