// Builds the program if its sources have changed since the last build: `npm start` and `npm test` run this every time, and
// start at once when there is nothing to do. `--force` builds in any case.
//
// The check compares names, sizes and modification times, because reading all sources would take longer than starting
// the program. Only what the check needs is imported before it is known that a build is necessary.
import '../packages/tidegate/bin/require-node.js';
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
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

/**
 * In a read-only checkout, a build that is up to date can run, but none can be made. The folders of a build may belong to
 * another user, for example after `sudo npm ci`.
 */
function checkWritable() {
  const folders = [root, 'dist', 'packages/tidegate/dist', 'packages/envtest/dist'].map((path) =>
    resolve(root, path),
  );
  for (const folder of folders.filter((path) => existsSync(path))) {
    try {
      accessSync(folder, constants.W_OK);
    } catch {
      console.error(
        `tidegate: cannot build: '${folder}' is read-only; copy '${resolve(root)}' to a folder in which you can write, and run \`npm ci\` there`,
      );
      process.exit(1);
    }
  }
}

/** Without `npm ci`, for example in a fresh checkout. */
function checkInstalled() {
  if (existsSync(join(root, 'node_modules/esbuild'))) return;
  console.error(
    `tidegate: cannot build: the packages are not installed in '${resolve(root)}'; run \`npm ci\` first`,
  );
  process.exit(1);
}

async function buildIfNeeded() {
  const current = fingerprint();
  const last = lastFingerprint();
  if (last === current && !process.argv.includes('--force')) return;
  checkWritable();
  if (last !== undefined) console.log('Building, because the sources have changed ...');
  checkInstalled();
  rmSync(stampFile, { force: true });
  const { bundleAll } = await import('./bundle.js');
  await bundleAll();
  mkdirSync(dirname(stampFile), { recursive: true });
  writeFileSync(stampFile, current);
}

await buildIfNeeded();
