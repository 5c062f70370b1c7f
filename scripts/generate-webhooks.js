// Writes deploy/webhooks.yaml and deploy/webhooks-before-1.30.yaml from the rules in packages/tidegate/src/admission: the part of
// each file below the mark. With --check it writes nothing and says whether they are stale.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { stringify } from 'yaml';

const MARK =
  '# Below: made by scripts/generate-webhooks.js from packages/tidegate/src/admission. Change it there.\n';
const FILES = { 'webhooks.yaml': { conditions: true }, 'webhooks-before-1.30.yaml': { conditions: false } };

async function manifests() {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, '../packages/tidegate/src/admission/manifest.ts')],
    conditions: ['tidegate-source'],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    banner: {
      js: `import { createRequire } from 'node:module'; const require = createRequire(${JSON.stringify(import.meta.url)});`,
    },
  });
  const source = Buffer.from(outputFiles[0].contents).toString('base64');
  return (await import(`data:text/javascript;base64,${source}`)).webhookManifests;
}

/** Without conditions, the manager cannot write the CA bundle either, so the file has a place for it. */
function textOf(object, { conditions }) {
  const webhooks = object.webhooks.map((webhook) => ({
    ...webhook,
    clientConfig: { ...webhook.clientConfig, ...(!conditions && { caBundle: 'CA_BUNDLE' }) },
  }));
  return stringify({ ...object, webhooks }, { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 });
}

const webhookManifests = await manifests();
const stale = [];
for (const [name, features] of Object.entries(FILES)) {
  const path = join(import.meta.dirname, '../deploy', name);
  const text = await readFile(path, 'utf8');
  const head = text.slice(0, text.indexOf(MARK));
  const wanted =
    head +
    MARK +
    webhookManifests(features)
      .map((object) => textOf(object, features))
      .join('---\n');
  if (wanted === text) continue;
  stale.push(name);
  if (!process.argv.includes('--check')) await writeFile(path, wanted);
}
if (process.argv.includes('--check') && stale.length > 0) {
  console.error(`stale in deploy: ${stale.join(', ')}; run node scripts/generate-webhooks.js`);
  process.exitCode = 1;
}
