// Runs TypeScript sources of the product from a script, so that generated pages always follow the code.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const ROOT = join(import.meta.dirname, '../..');
/** Inside node_modules, so that the bundle finds the packages that it imports. */
const CACHE = join(ROOT, 'node_modules/.cache/tidegate/docs');

/** Imports a source file of packages/tidegate/src, for example `api/index.ts`. */
export async function loadSource(path) {
  await mkdir(CACHE, { recursive: true });
  // Two runs at the same time must not read each other's half-written bundle.
  const outdir = join(CACHE, `${process.pid}`, path.replaceAll('/', '-').replace(/\.ts$/, ''));
  await build({
    absWorkingDir: ROOT,
    entryPoints: { index: join('packages/tidegate/src', path) },
    outdir,
    outExtension: { '.js': '.mjs' },
    // npm packages stay external; workspace packages are bundled from their sources.
    plugins: [{ name: 'npm-packages-are-external', setup: keepNpmPackagesExternal }],
    conditions: ['tidegate-source'],
    bundle: true,
    splitting: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    logLevel: 'warning',
  });
  return import(pathToFileURL(join(outdir, 'index.mjs')).href);
}

function keepNpmPackagesExternal({ onResolve }) {
  onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
    kind === 'entry-point' || path.startsWith('@tidegate/') ? undefined : { path, external: true },
  );
}

export const cacheDirectory = join(CACHE, `${process.pid}`);
