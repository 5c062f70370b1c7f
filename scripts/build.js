// Builds the program if its sources have changed since the last build: `npm start` and `npm test` run this every time, and
// start at once when there is nothing to do. `--force` builds in any case.
//
// The check compares names, sizes and modification times, because reading all sources would take longer than starting
// the program. Only what the check needs is imported before it is known that a build is necessary.
import '../packages/tidegate/bin/require-node.js';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const stampFile = join(root, 'dist/stamp');

/** Everything that ends up in the bundles. Tests are among it, because chaos and soak are tools in `test`. */
const SOURCES = ['packages', 'bench', 'test', 'scripts', 'package.json', 'package-lock.json'];
const OTHER_FILES = /^(?:node_modules|dist|docs|deploy|testdata|golden|cases)$|\.(?:test\.ts|md)$/;

function fingerprint() {
  const hash = createHash('sha256');
  const add = (path) => {
    const stat = statSync(path);
    if (!stat.isDirectory()) hash.update(`${path} ${stat.size} ${stat.mtimeMs}\n`);
    else for (const name of readdirSync(path).sort()) if (!OTHER_FILES.test(name)) add(join(path, name));
  };
  for (const source of SOURCES) add(join(root, source));
  return hash.digest('hex');
}

function lastFingerprint() {
  try {
    return readFileSync(stampFile, 'utf8');
  } catch {
    return undefined; // Never built, or a build was interrupted.
  }
}

const current = fingerprint();
if (process.argv.includes('--force') || lastFingerprint() !== current) {
  if (lastFingerprint() !== undefined) console.log('Building, because the sources have changed ...');
  try {
    rmSync(stampFile, { force: true });
    const { bundleAll } = await import('./bundle.js');
    await bundleAll();
    mkdirSync(join(root, 'dist'), { recursive: true });
    writeFileSync(stampFile, current);
  } catch (error) {
    if (error.code !== 'EROFS' && error.code !== 'EACCES' && error.code !== 'EPERM') throw error;
    console.error(
      `tidegate: cannot build: the folder ${JSON.stringify(root)} is read-only (${error.message}); copy it to a place where you can write, and run \`npm ci\` there`,
    );
    process.exitCode = 1;
  }
}
