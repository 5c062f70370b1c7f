// Writes deploy/crds/*.yaml from the kinds in packages/tidegate/src/api. With --check it writes nothing and says whether they are stale.
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { stringify } from 'yaml';

const DIRECTORY = join(import.meta.dirname, '../deploy/crds');
const HEADER = '# Made by scripts/generate-crds.js from packages/tidegate/src/api: change it there.\n';

/** The api folder imports nothing but types, so its bundle can be run from memory. */
async function definitions() {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, '../packages/tidegate/src/api/index.ts')],
    conditions: ['tidegate-source'],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
  });
  const source = Buffer.from(outputFiles[0].contents).toString('base64');
  const { customResourceDefinitions } = await import(`data:text/javascript;base64,${source}`);
  return customResourceDefinitions();
}

const texts = new Map(
  (await definitions()).map((definition) => [
    `${definition.metadata.name}.yaml`,
    HEADER + stringify(definition, { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 }),
  ]),
);
await mkdir(DIRECTORY, { recursive: true });
const existing = new Map();
for (const name of (await readdir(DIRECTORY)).filter((name) => name !== 'kustomization.yaml'))
  existing.set(name, await readFile(join(DIRECTORY, name), 'utf8'));
const stale = [...new Set([...texts.keys(), ...existing.keys()])].filter(
  (name) => texts.get(name) !== existing.get(name),
);

if (!process.argv.includes('--check')) {
  for (const name of stale) {
    if (texts.has(name)) await writeFile(join(DIRECTORY, name), texts.get(name));
    else await rm(join(DIRECTORY, name));
  }
} else if (stale.length > 0) {
  console.error(`stale in deploy/crds: ${stale.join(', ')}; run node scripts/generate-crds.js`);
  process.exitCode = 1;
}
