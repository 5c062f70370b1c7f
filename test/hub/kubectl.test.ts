/** The real kubectl through the hub, and custom resources, online and offline. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CONFIG_MAPS, type KubeList, type KubeObject, type Resource } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { administratorToken } from '../support/accounts.ts';
import { Edge } from '../support/edge.ts';
import { configMap, goOffline, goOnline, soon } from '../support/edge-objects.ts';
import { Kubectl } from '../support/kubectl.ts';
import { say, Watching, type Way } from '../support/wire.ts';

const WIDGETS: Resource = { group: 'test.example', version: 'v1', resource: 'widgets', namespaced: true };
const WIDGETS_PATH = '/apis/test.example/v1/namespaces/default/widgets';

let edge: Edge;
let kubectl: Kubectl;
let root: Way;

beforeAll(async () => {
  edge = await Edge.start();
  const token = await administratorToken(edge.admin);
  root = edge.asBearer(token);
  kubectl = new Kubectl(await kubeconfig(token));
  await edge.admin.create(
    {
      group: 'apiextensions.k8s.io',
      version: 'v1',
      resource: 'customresourcedefinitions',
      namespaced: false,
    },
    {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.test.example' },
      spec: {
        group: 'test.example',
        scope: 'Namespaced',
        names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties: { size: { type: 'integer' } } } },
          },
        ],
      },
    },
  );
  await soon(() => edge.admin.create(WIDGETS, widget('one', 1)));
});
afterAll(() => edge.stop());

const widget = (name: string, size: number): KubeObject => ({
  apiVersion: 'test.example/v1',
  kind: 'Widget',
  metadata: { name, namespace: 'default' },
  size,
});

/** Uses HTTPS at the address for pods, because kubectl does not send a token over plain HTTP. */
async function kubeconfig(token: string): Promise<string> {
  const { host, port, ca = '' } = edge.hubHttps;
  const file = join(edge.directory, 'kubeconfig');
  const cluster = {
    server: `https://${host}:${port}`,
    'certificate-authority-data': Buffer.from(ca).toString('base64'),
  };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'hub', cluster }],
    users: [{ name: 'root', user: { token } }],
    contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'root' } }],
    'current-context': 'hub',
  };
  await writeFile(file, stringify(config));
  return file;
}

/**
 * Uses a new cache directory each time. Otherwise, kubectl would use its own copy of the discovery documents.
 */
const run = (args: string, input?: string): Promise<string> =>
  kubectl.run(`--cache-dir=${join(edge.directory, `cache-${Math.random()}`)} ${args}`, input);

describe('kubectl', () => {
  it('reads, writes, describes, explains and checks permissions', async () => {
    const manifest = JSON.stringify(configMap('c', { k: 'v' }));
    expect(await run('apply -f -', manifest)).toContain('configmap/c created');
    expect(await run('apply --server-side --force-conflicts -f -', manifest)).toContain('serverside-applied');
    expect(await run('get configmaps')).toMatch(/^NAME +DATA +AGE\nc +1 /m);
    expect(await run('get cm c -o yaml')).toContain('k: v');
    expect(await run('describe configmap c')).toMatch(/Name: +c/);
    expect(await run('label cm c a=b')).toContain('labeled');
    expect(await run('get services')).toMatch(/^NAME +TYPE +CLUSTER-IP/);
    expect(await run('api-resources --api-group=discovery.k8s.io')).toContain('endpointslices');
    expect(await run('api-versions')).toContain('discovery.k8s.io/v1');
    expect(await run('explain configmap.data')).toContain('FIELD: data');
    expect(await run('auth can-i create pods')).toBe('yes\n');
    expect(await run('auth whoami')).toContain('system:serviceaccount:default:root');
    expect(await run('version -o json')).toContain('serverVersion');
    expect(await run('get widgets')).toMatch(/^NAME +AGE\none /m);
    expect(await run('explain widget')).toContain('KIND:       Widget');
    expect(await run('delete cm c')).toContain('deleted');
    await expect(run('get cm c')).rejects.toThrow('configmaps "c" not found');
  });

  it('watches', async () => {
    await edge.admin.create(CONFIG_MAPS, configMap('seen', { k: '1' }));
    const watching = run('get cm seen -w -o name --request-timeout=2s').catch(
      (error: Error) => error.message,
    );
    await soon(async () => {
      await edge.admin.patch(CONFIG_MAPS, { namespace: 'default', name: 'seen' }, 'merge', {
        data: { k: `${Math.random()}` },
      });
    });
    expect(await watching).toContain('configmap/seen');
  });

  it('offline, reads what it has read before, uses discovery, and gets an explanation for failed writes', async () => {
    await run('get widgets -o yaml');
    await run('get services -o yaml');
    await run('describe widget one');
    await run('explain configmap.data');
    await goOffline(edge);
    try {
      expect(await run('get widgets')).toContain('one');
      expect(await run('get services')).toContain('kubernetes');
      expect(await run('get widget one -o jsonpath={.size}')).toBe('1');
      expect(await run('describe widget one')).toMatch(/Size: +1/);
      expect(await run('api-resources --api-group=test.example')).toContain('widgets');
      expect(await run('explain configmap.data')).toContain('FIELD: data');
      expect(await run('version -o json')).toContain('serverVersion');
      const refused = [
        'label widget one a=b',
        'create cm x --from-literal=a=b',
        'auth can-i create pods',
        'get pods',
      ];
      await Promise.all(
        refused.map((args) => expect(run(args)).rejects.toThrow('the API server is unreachable')),
      );
    } finally {
      await goOnline(edge);
    }
  });
});

describe('custom resources', () => {
  it('are listed and watched offline, and updated when the link is restored', async () => {
    const list = (await say(root, WIDGETS_PATH)).json<KubeList<KubeObject>>();
    const watch = await Watching.open(
      root,
      `${WIDGETS_PATH}?watch=1&resourceVersion=${list.metadata.resourceVersion}`,
    );
    await goOffline(edge);
    expect((await say(root, WIDGETS_PATH)).json()).toMatchObject({
      kind: 'WidgetList',
      items: [{ metadata: { name: 'one' } }],
    });
    expect((await say(root, `${WIDGETS_PATH}/one`)).json()).toMatchObject({ kind: 'Widget', size: 1 });
    expect((await say(root, `${WIDGETS_PATH}/none`)).status).toBe(404);
    await edge.admin.create(WIDGETS, widget('two', 2));
    await goOnline(edge);
    await soon(() => expect(watch.story).toEqual(['ADDED two']));
    watch.close();
  });

  it('are removed with their definition', async () => {
    const watch = await Watching.open(root, `${WIDGETS_PATH}?watch=1&resourceVersion=0`);
    await soon(() => expect(watch.story).toHaveLength(2));
    await edge.admin.delete(
      {
        group: 'apiextensions.k8s.io',
        version: 'v1',
        resource: 'customresourcedefinitions',
        namespaced: false,
      },
      { name: 'widgets.test.example' },
    );
    await soon(async () => expect((await say(root, WIDGETS_PATH)).status).toBe(404));
    await soon(() => expect(watch.story.slice(2).sort()).toEqual(['DELETED one', 'DELETED two']));
    watch.close();
    await goOffline(edge);
    expect((await say(root, WIDGETS_PATH)).text).not.toContain('"one"');
    await goOnline(edge);
  });
});

it('discovery is available offline, aggregated and unaggregated', async () => {
  const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
  const forms: [path: string, accept: string, kind: string][] = [
    ['/api', 'application/json', 'APIVersions'],
    ['/apis', 'application/json', 'APIGroupList'],
    ['/api', aggregated, 'APIGroupDiscoveryList'],
    ['/apis', aggregated, 'APIGroupDiscoveryList'],
    ['/api/v1', 'application/json', 'APIResourceList'],
    ['/apis/discovery.k8s.io/v1', 'application/json', 'APIResourceList'],
  ];
  await goOffline(edge);
  for (const [path, accept, kind] of forms)
    expect([path, (await say(root, path, { headers: { accept } })).json().kind]).toEqual([path, kind]);
  expect((await say(root, '/version')).json()).toMatchObject({ gitVersion: expect.any(String) });
  await goOnline(edge);
});
