// Builds dist/ with esbuild: one bundle per entry point, shared code in chunks, npm packages left external.
// One bundle instead of hundreds of files keeps the start of the program short.
import { rm } from 'node:fs/promises';
import { build } from 'esbuild';

await rm('dist', { recursive: true, force: true });
await build({
  entryPoints: { 'cli/main': 'src/cli/main.ts', 'bench/main': 'bench/main.ts' },
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
