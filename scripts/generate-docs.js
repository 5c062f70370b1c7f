// Writes the pages and pictures of docs/ that follow from the code. With --check it writes nothing, and fails when one of
// them is stale.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cliPage } from './docs/cli-page.js';
import { kindsPage } from './docs/kinds-page.js';
import { cacheDirectory, loadSource } from './docs/load-source.js';
import { namesPage } from './docs/names-page.js';
import { drawSites } from './docs/picture.js';

const ROOT = join(import.meta.dirname, '..');
const PICTURE = 'docs/images/sites.yaml';
const NAMES = 'packages/tidegate/src/api/names.ts';

async function files() {
  const [api, { createProgram }] = await Promise.all([
    loadSource('api/index.ts'),
    loadSource('cli/program.ts'),
  ]);
  return new Map([
    ['docs/images/sites.svg', drawSites(await readFile(join(ROOT, PICTURE), 'utf8'), PICTURE)],
    ['docs/reference/cli.md', cliPage(createProgram())],
    ['docs/reference/kinds.md', kindsPage(api.customResourceDefinitions())],
    ['docs/reference/labels-and-annotations.md', namesPage(await readFile(join(ROOT, NAMES), 'utf8'), api)],
  ]);
}

const stale = [];
try {
  for (const [path, text] of await files()) {
    const file = join(ROOT, path);
    if ((await readFile(file, 'utf8').catch(() => undefined)) === text) continue;
    stale.push(path);
    if (process.argv.includes('--check')) continue;
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
} finally {
  await rm(cacheDirectory, { recursive: true, force: true });
}
if (process.argv.includes('--check') && stale.length > 0) {
  console.error(`stale: ${stale.join(', ')}; run npm run docs`);
  process.exitCode = 1;
} else if (stale.length > 0) {
  console.log(`wrote ${stale.join(', ')}`);
}
