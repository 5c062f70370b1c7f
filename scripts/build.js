// Builds dist/ with esbuild: one bundle per entry point, shared code in chunks, npm packages left external.
// One bundle instead of hundreds of files keeps the start of the program short.
import { cp, mkdir, readdir, rm } from 'node:fs/promises';
import { build } from 'esbuild';
import { generateSchemas } from './generate-schemas.js';

await mkdir('dist', { recursive: true });
for (const name of await readdir('dist')) {
  // The schemas are a cache with a stamp of its own.
  if (name !== 'schemas') await rm(`dist/${name}`, { recursive: true, force: true });
}
generateSchemas();
// nginx reads them itself.
await cp('src/dataplane/nginx/lua', 'dist/nginx/lua', { recursive: true });
await build({
  entryPoints: {
    'cli/main': 'src/cli/main.ts',
    'node/stand-in': 'src/local/node/standin/main.ts',
    'bench/main': 'bench/main.ts',
    'chaos/main': 'test/chaos/main.ts',
    'soak/main': 'test/soak/main.ts',
  },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  packages: 'external',
  platform: 'node',
  target: 'node20',
  format: 'esm',
  sourcemap: true,
  logLevel: 'warning',
});
