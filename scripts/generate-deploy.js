// Writes what follows from the templates in deploy/chart/templates and the values in packages/tidegate/src/install: the other
// files of the Helm chart, and the kustomize base with its overlays. With --check it writes nothing and reports stale files.
// Run scripts/generate-crds.js first: the chart contains copies of deploy/crds.
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cacheDirectory, loadSource } from './docs/load-source.js';

const ROOT = join(import.meta.dirname, '..');
const DEPLOY = join(ROOT, 'deploy');
const METRICS = join(ROOT, 'docs/reference/metrics.md');
const ALERTS = join(ROOT, 'docs/guides/alerts.md');
const MADE = 'Made by scripts/generate-deploy.js from packages/tidegate/src/install: change it there.';
/** Folders in which every file is generated. */
const GENERATED = ['base', 'overlays', 'chart/crds'];

async function generated() {
  const install = await loadSource('install/generate.ts');
  const { version } = JSON.parse(await readFile(join(ROOT, 'packages/tidegate/package.json'), 'utf8'));
  const definitions = install.valueDefinitions(version);
  const crds = (await readdir(join(DEPLOY, 'crds'))).filter((name) => name !== 'kustomization.yaml').sort();
  const files = new Map([
    ['chart/Chart.yaml', chartFile(version)],
    ['chart/values.yaml', `# ${MADE}\n${install.valuesFile(definitions)}`],
    ['chart/values.schema.json', `${JSON.stringify(install.valuesSchema(definitions), undefined, 2)}\n`],
    ['crds/kustomization.yaml', install.definitionsKustomization(crds)],
  ]);
  for (const name of crds)
    files.set(`chart/crds/${name}`, await readFile(join(DEPLOY, 'crds', name), 'utf8'));
  const monitoring = install.monitoringTemplate(
    metricsOf(await readFile(METRICS, 'utf8')),
    sectionsOf(await readFile(ALERTS, 'utf8')),
  );
  files.set('chart/templates/monitoring.yaml', monitoring);
  const chart = { ...install.readChart(join(DEPLOY, 'chart')), version };
  chart.templates.set('monitoring.yaml', monitoring);
  const source = { chart, definitions };
  for (const [path, text] of install.baseFiles(source)) files.set(path, text);
  for (const overlay of install.OVERLAYS)
    for (const [path, text] of install.overlayFiles(source, overlay)) files.set(path, text);
  return files;
}

/** The rows of the tables in the reference of metrics, with the heading above them. */
function metricsOf(page) {
  let program = '';
  return page.split('\n').flatMap((line) => {
    program = /^## (.*)$/.exec(line)?.[1] ?? program;
    const [, name, type, description] = /^\| `(\w+)` *\| *(\w+) *\|.*\| (.*?) *\|$/.exec(line) ?? [];
    return name === undefined ? [] : [{ name, type, program, description }];
  });
}

/** The sections of a page by their headings, each as one line without links. */
const sectionsOf = (page) =>
  new Map(
    page
      .split(/^## /m)
      .slice(1)
      .map((section) => {
        const [heading, ...lines] = section.split('\n');
        const text = lines.filter((line) => line !== '').join(' ');
        return [heading, text.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')];
      }),
  );

const chartFile = (version) => `# ${MADE}
apiVersion: v2
name: tidegate
description: A front door for every edge site of one Kubernetes cluster.
type: application
version: ${version}
appVersion: ${version}
# Older versions need tidegate install, which leaves out what they do not serve.
kubeVersion: ">=1.30.0-0"
`;

/** The paths of all files in the generated folders. */
async function existing() {
  const paths = [];
  for (const folder of GENERATED) {
    const entries = await readdir(join(DEPLOY, folder), { recursive: true, withFileTypes: true }).catch(
      () => [],
    );
    for (const entry of entries)
      if (entry.isFile())
        paths.push(join(entry.parentPath ?? entry.path, entry.name).slice(DEPLOY.length + 1));
  }
  return paths;
}

const check = process.argv.includes('--check');
try {
  const files = await generated();
  const stale = (await existing()).filter((path) => !files.has(path));
  for (const path of check ? [] : stale) await rm(join(DEPLOY, path));
  for (const [path, text] of files) {
    const file = join(DEPLOY, path);
    if ((await readFile(file, 'utf8').catch(() => undefined)) === text) continue;
    stale.push(path);
    if (check) continue;
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  if (check && stale.length > 0) {
    console.error(`stale in deploy: ${stale.join(', ')}; run node scripts/generate-deploy.js`);
    process.exitCode = 1;
  }
} finally {
  await rm(cacheDirectory, { recursive: true, force: true });
}
