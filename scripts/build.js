// Builds what runs from the checkout: the program `tidegate` and the tools that stay in the repository (bench, chaos,
// soak). One bundle per entry point with shared code in chunks: a single file starts faster than hundreds of modules.
// The workspace packages are bundled in from their sources; packages from npm stay external.
import { cp, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { generateSchemas } from '../packages/envtest/scripts/generate-schemas.js';

const root = join(import.meta.dirname, '..');
const product = join(root, 'packages/tidegate');

const { dependencies } = JSON.parse(await readFile(join(product, 'package.json'), 'utf8'));
const external = Object.keys(dependencies);

async function bundle(outdir, entryPoints, alsoExternal = []) {
  await build({
    absWorkingDir: root,
    entryPoints,
    outdir,
    external: [...external, ...alsoExternal],
    conditions: ['tidegate-source'],
    bundle: true,
    splitting: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    sourcemap: true,
    logLevel: 'warning',
  });
}

async function empty(directory) {
  await mkdir(directory, { recursive: true });
  for (const name of await readdir(directory))
    await rm(join(directory, name), { recursive: true, force: true });
}

const dist = join(product, 'dist');
await empty(dist);
await empty(join(root, 'dist'));
// The schemas are a cache with a stamp of its own, so they are made only when something they depend on has changed.
generateSchemas();
for (const place of [dist, join(root, 'dist')])
  await cp(join(root, 'packages/envtest/dist/schemas'), join(place, 'schemas'), { recursive: true });
// nginx reads its Lua files itself.
await cp(join(product, 'src/dataplane/nginx/lua'), join(dist, 'nginx/lua'), { recursive: true });
await bundle(dist, { 'cli/main': 'packages/tidegate/src/cli/main.ts' });
// A bundle of its own, without shared chunks: tests run it from packages/envtest, the program from its own dist/.
await bundle(join(root, 'packages/envtest/dist/node'), {
  'stand-in': 'packages/envtest/src/node/standin/main.ts',
});
await cp(join(root, 'packages/envtest/dist/node'), join(dist, 'node'), { recursive: true });
await bundle(
  join(root, 'dist'),
  {
    'bench/main': 'bench/main.ts',
    'chaos/main': 'test/chaos/main.ts',
    'fuzz/main': 'test/fuzz/main.ts',
    'soak/main': 'test/soak/main.ts',
  },
  ['classic-level', 'vitest'],
);
