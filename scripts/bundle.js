// The build, called by build.js: the program `tidegate`, and the tools that stay in the repository (bench, chaos, soak).
// One bundle per entry point with shared code in chunks, which contain the workspace packages and the npm packages: a
// few files start in half the time of hundreds of modules, and a cluster of `tidegate up` starts the program fifteen
// times.
import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { generateSchemas } from '../packages/envtest/scripts/generate-schemas.js';
import { licensesOf } from './licenses.js';

const root = join(import.meta.dirname, '..');
const product = join(root, 'packages/tidegate');

/** Some npm packages are CommonJS, and call `require` for modules of Node.js. */
const REQUIRE = `import { createRequire as createRequireOfBundle } from 'node:module';
const require = createRequireOfBundle(import.meta.url);`;

/** Returns the paths of everything that is in the bundle. */
async function bundle(outdir, entryPoints, external = []) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints,
    outdir,
    external,
    banner: { js: REQUIRE },
    metafile: true,
    conditions: ['tidegate-source'],
    bundle: true,
    splitting: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    sourcemap: true,
    logLevel: 'warning',
  });
  return Object.keys(metafile.inputs);
}

/** The pages of `tidegate console`: one script and one style sheet, which browsers load from the console only. */
async function bundleConsole(outdir) {
  await cp(join(root, 'packages/console/static'), outdir, { recursive: true });
  await build({
    absWorkingDir: root,
    entryPoints: { main: 'packages/console/src/main.ts' },
    outdir,
    bundle: true,
    minify: true,
    platform: 'browser',
    target: 'es2022',
    format: 'esm',
    logLevel: 'warning',
  });
}

async function empty(directory) {
  await mkdir(directory, { recursive: true });
  for (const name of await readdir(directory))
    await rm(join(directory, name), { recursive: true, force: true });
}

export async function bundleAll() {
  const dist = join(product, 'dist');
  await empty(dist);
  await empty(join(root, 'dist'));
  // The schemas are a cache with a stamp of its own, so they are made only when something they depend on has changed.
  generateSchemas();
  for (const place of [dist, join(root, 'dist')]) {
    await cp(join(root, 'packages/envtest/dist/schemas'), join(place, 'schemas'), { recursive: true });
    // nginx reads its Lua files itself. The benchmark and the fuzz test run nginx too.
    await cp(join(product, 'src/dataplane/nginx/lua'), join(place, 'nginx/lua'), { recursive: true });
  }
  const inputs = await bundle(dist, { 'cli/main': 'packages/tidegate/src/cli/main.ts' });
  await writeFile(join(dist, 'LICENSES.txt'), licensesOf(inputs, root));
  await bundleConsole(join(dist, 'console'));
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
      'cluster/main': 'test/kube/cluster/main.ts',
      'fuzz/main': 'test/fuzz/main.ts',
      'soak/main': 'test/soak/main.ts',
    },
    ['classic-level', 'vitest'],
  );
}
