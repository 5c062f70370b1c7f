// Runs main.ts with any supported Node: versions before 22.18 cannot run TypeScript, so it is bundled first.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';

const directory = await mkdtemp(join(tmpdir(), 'provisioner-'));
const outfile = join(directory, 'main.mjs');
try {
  await build({
    entryPoints: [join(import.meta.dirname, 'main.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    conditions: ['tidegate-source'],
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
    outfile,
  });
  await import(outfile);
} finally {
  await rm(directory, { recursive: true, force: true });
}
