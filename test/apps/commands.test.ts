/** Runs `tidegate render` and `tidegate diff` in this process. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONFIG_MAPS, DEPLOYMENTS, type KubeClient, type KubeObject } from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { NODE_GROUPS } from '../../packages/tidegate/src/api/index.ts';
import { createProgram } from '../../packages/tidegate/src/cli/program.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';

const SEED = fileURLToPath(
  new URL('../../packages/tidegate/src/apps/render/testdata/seed-example.in.yaml', import.meta.url),
);

let stdout = '';
let stderr = '';
const directory = mkdtempSync(join(tmpdir(), 'tidegate-commands-'));
beforeEach(() => {
  [stdout, stderr] = ['', ''];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
  vi.spyOn(console, 'error').mockImplementation((text) => {
    stderr += `${text}\n`;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(() => rmSync(directory, { recursive: true }));

/** Runs a command and returns its exit code. */
async function tidegate(...args: string[]): Promise<number> {
  try {
    const program = await createProgram();
    await program.parseAsync(args, { from: 'user' });
    return Number(process.exitCode ?? 0);
  } finally {
    process.exitCode = undefined;
  }
}
const file = (content: unknown): string => {
  const path = join(directory, 'app.yaml');
  writeFileSync(path, typeof content === 'string' ? content : stringify(content));
  return path;
};
const printed = (): KubeObject[] =>
  parseAllDocuments(stdout).map((document) => document.toJS() as KubeObject);
const application = (manifests: unknown[], workloadScope: object = {}): object => ({
  apiVersion: 'apps.kubeedge.io/v1alpha1',
  kind: 'EdgeApplication',
  metadata: { name: 'app' },
  spec: { workloadTemplate: { manifests }, workloadScope },
});
const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { a: '1' } };

describe('tidegate render', () => {
  it('prints every object as a YAML document', async () => {
    expect(await tidegate('render', '-f', SEED)).toBe(0);
    expect(printed().map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'Service nginx-service',
      'Deployment nginx-hangzhou',
      'Deployment nginx-beijing',
    ]);
  });

  it('prints the edition of one pool', async () => {
    expect(await tidegate('render', '-f', SEED, '--pool', 'beijing')).toBe(0);
    expect(printed().map(({ metadata }) => metadata.name)).toEqual(['nginx-beijing']);
    expect(await tidegate('render', '-f', SEED, '--pool', 'paris')).toBe(1);
    expect(stderr).toBe(
      'tidegate: EdgeApplication nginx-app has no edition for pool paris; editions: hangzhou, beijing\n',
    );
  });

  it('names the field of every mistake, and still prints the other objects', async () => {
    expect(await tidegate('render', '-f', file(application([settings, { kind: 'Secret' }])))).toBe(1);
    expect(printed()).toHaveLength(1);
    expect(stderr).toBe(
      'spec.workloadTemplate.manifests[1].apiVersion: apiVersion is required, for example apps/v1\n',
    );
  });

  it('reads YAML as kubectl does', async () => {
    const text = stringify(application([{ ...settings, data: { a: 'MARK' } }])).replace('MARK', '"yes"');
    expect(await tidegate('render', '-f', file(text))).toBe(0);
    expect(stdout).toContain('a: "yes"');
  });

  it.each([
    ['nothing: here\n', 'line 1: not a Kubernetes object: set apiVersion and kind'],
    ['apiVersion: v1\nkind: Service\nmetadata: {}\n', 'contains no EdgeApplication'],
    ['kind: [\n', 'line 2:'],
    [
      'apiVersion: apps.kubeedge.io/v1alpha1\nkind: EdgeApplication\nspec: { workloadScop: {} }\n',
      'spec.workloadScop: unknown field',
    ],
  ])('reports an invalid file: %j', async (text, message) => {
    expect(await tidegate('render', '-f', file(text))).toBe(1);
    expect(stderr).toContain(message);
  });

  it('reports a missing file', async () => {
    expect(await tidegate('render', '-f', join(directory, 'none.yaml'))).toBe(1);
    expect(stderr).toMatch(/^tidegate: cannot read .*none.yaml: ENOENT/);
  });
});

describe('tidegate diff', () => {
  let server: EmbeddedWithKinds;
  let client: KubeClient;
  beforeAll(async () => {
    server = await startEmbeddedWithKinds();
    client = server.client;
  });
  afterAll(() => server.stop());
  const diff = (path: string): Promise<number> =>
    tidegate('diff', '-f', path, '--kubeconfig', server.kubeconfig);

  it('shows objects that would be created, and writes nothing', async () => {
    for (const name of ['hangzhou', 'beijing']) {
      await client.create(NODE_GROUPS, {
        apiVersion: 'apps.kubeedge.io/v1alpha1',
        kind: 'NodeGroup',
        metadata: { name },
        spec: {},
      });
    }
    expect(await diff(SEED)).toBe(1);
    expect(stderr).toBe(
      'all sites: create Service nginx-service\n' +
        'site beijing: create Deployment nginx-beijing\n' +
        'site hangzhou: create Deployment nginx-hangzhou\n',
    );
    expect(stdout).toContain('+++ desired/apps.v1.Deployment.default.nginx-hangzhou\n@@ -0,0 ');
    expect(stdout).toContain('+  name: nginx-service\n');
    expect((await client.list(DEPLOYMENTS)).items).toEqual([]);
  });

  it('shows lines that would change, and exits with 0 if there are none', async () => {
    const labels = {
      'groupmanagement.kubeedge.io/edgeapplication-name': 'app',
      'apps.tidegate.io/edgeapplication-namespace': 'default',
    };
    await client.create(
      CONFIG_MAPS,
      { ...settings, metadata: { name: 'settings', labels } },
      { namespace: 'default' },
    );
    expect(await diff(file(application([settings])))).toBe(0);
    expect(stdout).toBe('');
    expect(await diff(file(application([{ ...settings, data: { a: '2' } }])))).toBe(1);
    expect(stdout).toContain('-  a: "1"\n+  a: "2"\n');
  });

  it('says what happens at which site, and in which wave', async () => {
    for (const [name, labels] of [
      ['pilot', { wave: 'pilot' }],
      ['others', {}],
    ] as const)
      await client.create(NODE_GROUPS, {
        apiVersion: 'apps.kubeedge.io/v1alpha1',
        kind: 'NodeGroup',
        metadata: { name, labels },
        spec: {},
      });
    const each = {
      ...settings,
      metadata: { name: 'each', annotations: { 'apps.tidegate.io/editions': 'each' } },
    };
    const all = { ...settings, metadata: { name: 'all' } };
    const app = application([each, all], { targetNodeGroups: [{ name: 'pilot' }, { name: 'others' }] });
    const waves = [{ name: 'first', poolSelector: { matchLabels: { wave: 'pilot' } } }];
    const { spec } = app as { spec: object };
    expect(await diff(file({ ...app, spec: { ...spec, rollout: { waves } } }))).toBe(1);
    expect(stderr).toBe(
      'all sites: create ConfigMap all\n' +
        'site others (wave others): create ConfigMap each-others\n' +
        'site pilot (wave first): create ConfigMap each-pilot\n',
    );
  });

  it('exits with 2 and names the objects and fields that would fail', async () => {
    await client.create(CONFIG_MAPS, { ...settings, metadata: { name: 'theirs' } }, { namespace: 'default' });
    const theirs = { ...settings, metadata: { name: 'theirs' } };
    const scope = { targetNodeGroups: [{ name: 'nowhere' }] };
    expect(await diff(file(application([theirs], scope)))).toBe(2);
    expect(stderr).toMatch(/targetNodeGroups\[0\]\.name: there is no NodeGroup or NodePool nowhere\n/);
    expect(stderr).toMatch(
      /ConfigMap default\/theirs: the object exists and does not belong to this application/,
    );
  });
});
