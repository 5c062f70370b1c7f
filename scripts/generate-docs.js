// Writes the pages and pictures of docs/ that follow from the code, and aligns the tables of the other pages. With --check
// it writes nothing, and fails when a file would change.
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { alignTables } from './docs/align-tables.js';
import { cliPage } from './docs/cli-page.js';
import { ingressNginxPage } from './docs/ingress-nginx-page.js';
import { kindsPage } from './docs/kinds-page.js';
import { cacheDirectory, loadSource } from './docs/load-source.js';
import { namesPage } from './docs/names-page.js';
import { nginxConfigPage } from './docs/nginx-config-page.js';
import { drawSites } from './docs/picture.js';
import { valuesPage } from './docs/values-page.js';

const ROOT = join(import.meta.dirname, '..');
const PICTURE = 'docs/images/sites.yaml';
const NAMES = 'packages/tidegate/src/api/names.ts';
const PAGES_BESIDE_DOCS = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'];

const read = (path) => readFile(join(ROOT, path), 'utf8');

const versionOfProgram = async () => JSON.parse(await read('packages/tidegate/package.json')).version;

async function generated() {
  const [api, { createProgram }, ingressNginx, nginxConfig, install] = await Promise.all([
    loadSource('api/index.ts'),
    loadSource('cli/program.ts'),
    loadSource('ingress/nginx-annotations/index.ts'),
    loadSource('ingress/nginx-config/index.ts'),
    loadSource('install/index.ts'),
  ]);
  return new Map([
    ['docs/images/sites.svg', drawSites(await read(PICTURE), PICTURE)],
    ['docs/reference/cli.md', cliPage(await createProgram())],
    ['docs/reference/ingress-nginx-annotations.md', ingressNginxPage(ingressNginx)],
    ['docs/reference/ingress-nginx-configmap.md', nginxConfigPage(nginxConfig)],
    ['docs/reference/install-values.md', valuesPage(install.valueDefinitions(await versionOfProgram()))],
    ['docs/reference/kinds.md', kindsPage(api.customResourceDefinitions())],
    ['docs/reference/labels-and-annotations.md', namesPage(await read(NAMES), api)],
  ]);
}

/** The pages that are written by hand, with their tables aligned. */
async function aligned() {
  const below = await readdir(join(ROOT, 'docs'), { recursive: true });
  const paths = [
    ...PAGES_BESIDE_DOCS,
    ...below.filter((path) => path.endsWith('.md')).map((path) => `docs/${path}`),
  ];
  return Promise.all(paths.map(async (path) => [path, alignTables(await read(path))]));
}

const check = process.argv.includes('--check');
const stale = [];
try {
  for (const [path, text] of new Map([...(await aligned()), ...(await generated())])) {
    if ((await read(path).catch(() => undefined)) === text) continue;
    stale.push(path);
    if (check) continue;
    await mkdir(dirname(join(ROOT, path)), { recursive: true });
    await writeFile(join(ROOT, path), text);
  }
} finally {
  await rm(cacheDirectory, { recursive: true, force: true });
}
if (check && stale.length > 0) {
  console.error(`stale: ${stale.join(', ')}; run npm run docs`);
  process.exitCode = 1;
} else if (stale.length > 0) {
  console.log(`wrote ${stale.join(', ')}`);
}
