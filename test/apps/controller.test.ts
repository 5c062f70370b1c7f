/** EdgeApplications with the embedded API server. There is no Deployment controller; tests set the status themselves. */
import { readFileSync } from 'node:fs';
import {
  CONFIG_MAPS,
  type ConfigMap,
  DEPLOYMENTS,
  type Deployment,
  EventRecorder,
  getCondition,
  Informers,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type Logger,
  Metrics,
  NAMESPACES,
  type Resource,
  SERVICES,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  EDGE_APPLICATION_LABEL,
  EDGE_APPLICATION_NAMESPACE_LABEL,
  EDGE_APPLICATIONS,
  type EdgeApplication,
  type ManifestStatus,
  NODE_GROUPS,
  NODE_POOLS,
  type TargetNodeGroup,
} from '../../packages/tidegate/src/api/index.ts';
import { applicationController } from '../../packages/tidegate/src/apps/index.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { eventually } from '../support/patience.ts';

const SEED = new URL(
  '../../packages/tidegate/src/apps/render/testdata/seed-example.in.yaml',
  import.meta.url,
);
const CLUSTER_ROLES: Resource = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource: 'clusterroles',
  namespaced: false,
};
const namespace = 'default';

let server: EmbeddedWithKinds;
let client: KubeClient;
beforeAll(async () => {
  server = await startEmbeddedWithKinds();
  client = server.client;
  await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } });
});
afterAll(() => server.stop());

const settings = (name: string, data: Record<string, string> = {}, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});
const web = (image = 'web:1') => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image }] } },
  },
});
const application = (
  name: string,
  manifests: Record<string, unknown>[],
  targetNodeGroups: TargetNodeGroup[] = [],
): EdgeApplication => ({
  apiVersion: 'apps.kubeedge.io/v1alpha1',
  kind: 'EdgeApplication',
  metadata: { name, namespace },
  spec: { workloadTemplate: { manifests }, workloadScope: { targetNodeGroups } },
});
const create = (object: EdgeApplication) => client.create(EDGE_APPLICATIONS, object, { namespace });
const change = (name: string, patch: object) =>
  client.patch(EDGE_APPLICATIONS, { name, namespace }, 'merge', patch);
const setManifests = (name: string, manifests: object[]) =>
  change(name, { spec: { workloadTemplate: { manifests } } });
const setTargets = (name: string, targetNodeGroups: object[]) =>
  change(name, { spec: { workloadScope: { targetNodeGroups } } });
const makeGroup = (name: string) =>
  client.create(NODE_GROUPS, {
    apiVersion: 'apps.kubeedge.io/v1alpha1',
    kind: 'NodeGroup',
    metadata: { name },
    spec: { nodes: [] },
  });

const find = async <T extends KubeObject>(
  resource: Resource<T>,
  name: string,
  where: string | undefined = namespace,
): Promise<T | undefined> => {
  try {
    return await client.get(resource, { name, ...(resource.namespaced && { namespace: where }) });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};
const appears = <T extends KubeObject>(
  resource: Resource<T>,
  name: string,
  fits: (object: T) => boolean = () => true,
  where = namespace,
): Promise<T> =>
  eventually(async () => {
    const found = await find(resource, name, where);
    return found !== undefined && fits(found) ? found : undefined;
  });
const isGone = (resource: Resource, name: string, where = namespace) =>
  eventually(async () => (await find(resource, name, where)) === undefined || undefined);
const readyText = ({ status }: EdgeApplication): string => {
  const ready = getCondition(status?.conditions, 'Ready');
  return `${ready?.status} ${ready?.reason}: ${ready?.message}`;
};
const readyBecomes = (name: string, text: RegExp): Promise<EdgeApplication> =>
  appears(
    EDGE_APPLICATIONS,
    name,
    (found) => text.test(readyText(found)) && found.status?.observedGeneration === found.metadata.generation,
  );
const entryOf = ({ status }: EdgeApplication, name: string): ManifestStatus | undefined =>
  status?.manifestStatuses?.find(({ identifier }) => identifier.name === name);
const rolledOut = (deployment: Deployment) => {
  const replicas = deployment.spec?.replicas ?? 1;
  return client.patch(
    DEPLOYMENTS,
    { name: deployment.metadata.name!, namespace, subresource: 'status' },
    'merge',
    {
      status: {
        observedGeneration: deployment.metadata.generation,
        replicas,
        updatedReplicas: replicas,
        readyReplicas: replicas,
        availableReplicas: replicas,
      },
    },
  );
};

describe('the application controller', () => {
  let stop: AbortController;
  let running: Promise<unknown>;
  let recorder: EventRecorder;
  /** The keys that were reconciled, in order. */
  const reconciled: unknown[] = [];
  const log: Logger = {
    ...silentLogger,
    child: () => log,
    debug: (fields) => reconciled.push((fields as { key?: string }).key),
  };

  const start = (): void => {
    stop = new AbortController();
    const informers = new Informers(client);
    recorder = new EventRecorder(client, { component: 'tidegate-apps' });
    const controller = applicationController({
      client,
      informers,
      recorder,
      metrics: new Metrics(),
      log,
      clock: systemClock,
    });
    running = Promise.all([informers.run(stop.signal), controller.run(stop.signal)]);
  };
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
    await recorder.close();
  };

  beforeEach(start);

  afterEach(async () => {
    await client.deleteCollection(EDGE_APPLICATIONS, { namespace });
    await eventually(async () => (await client.list(EDGE_APPLICATIONS)).items.length === 0 || undefined);
    await client.deleteCollection(NODE_GROUPS);
    await client.deleteCollection(NODE_POOLS);
    await end();
  });

  it('creates the objects of the KubeEdge example, and reports when they are available', async () => {
    for (const name of ['hangzhou', 'beijing']) await makeGroup(name);
    await create(parse(readFileSync(SEED, 'utf8')) as EdgeApplication);
    for (const [pool, replicas] of [
      ['hangzhou', 2],
      ['beijing', 3],
    ] as const) {
      const deployment = await appears(DEPLOYMENTS, `nginx-${pool}`);
      expect(deployment.spec?.replicas).toBe(replicas);
      expect(deployment.spec?.template.spec?.containers[0]?.image).toBe(`${pool}.registry.io/nginx:latest`);
      expect(deployment.spec?.template.spec?.nodeSelector).toEqual({ 'apps.kubeedge.io/belonging-to': pool });
    }
    const service = await appears(SERVICES, 'nginx-service');
    expect(service.metadata.labels?.[EDGE_APPLICATION_LABEL]).toBe('nginx-app');

    const waiting = await readyBecomes('nginx-app', /False Progressing/);
    expect(entryOf(waiting, 'nginx-service')?.conditions).toMatchObject([
      { type: 'Processing', status: 'False' },
      { type: 'Available', status: 'True' },
    ]);
    for (const pool of ['hangzhou', 'beijing']) await rolledOut(await appears(DEPLOYMENTS, `nginx-${pool}`));
    const done = await readyBecomes('nginx-app', /True Available: 3 objects are available/);
    expect(entryOf(done, 'nginx-hangzhou')).toMatchObject({
      identifier: {
        ordinal: 0,
        group: 'apps',
        version: 'v1',
        kind: 'Deployment',
        resource: 'deployments',
        namespace: 'default',
        name: 'nginx-hangzhou',
      },
      conditions: [
        { type: 'Processing', status: 'False' },
        {
          type: 'Available',
          status: 'True',
          message: '2 of 2 pods are available; unknown fields were ignored: .spec.template.spec.ports',
        },
      ],
    });
  });

  it('ignores unknown fields, and names them in the status', async () => {
    await makeGroup('east');
    const { spec } = web();
    const template = {
      ...spec.template,
      spec: { containers: [{ name: 'web', image: 'web:1', prots: [], imag: 'x' }] },
    };
    await create(
      application('stray', [{ ...web(), spec: { ...spec, template, replica: 2 } }], [{ name: 'east' }]),
    );
    await rolledOut(await appears(DEPLOYMENTS, 'web-east'));
    const stray = await readyBecomes('stray', /True/);
    for (const field of ['.spec.replica', 'containers[name="web"].prots', 'containers[name="web"].imag'])
      expect(readyText(stray)).toContain(field);
  });

  it('corrects drift, and recreates deleted objects', async () => {
    await create(application('drift', [settings('drift', { a: '1' })]));
    await appears(CONFIG_MAPS, 'drift');
    await client.patch(CONFIG_MAPS, { name: 'drift', namespace }, 'merge', { data: { a: '2' } });
    await appears(CONFIG_MAPS, 'drift', ({ data }) => data?.a === '1');
    const { metadata } = await appears(CONFIG_MAPS, 'drift');
    await client.delete(CONFIG_MAPS, { name: 'drift', namespace });
    await appears(CONFIG_MAPS, 'drift', (again) => again.metadata.uid !== metadata.uid);
  });

  it('restores its labels, also on objects without an owner reference', async () => {
    await create(application('labels', [settings('far', {}, { namespace: 'other' })]));
    await readyBecomes('labels', /True/);
    await client.patch(CONFIG_MAPS, { name: 'far', namespace: 'other' }, 'merge', {
      metadata: { labels: { [EDGE_APPLICATION_LABEL]: null, [EDGE_APPLICATION_NAMESPACE_LABEL]: null } },
    });
    await appears(
      CONFIG_MAPS,
      'far',
      (found) => found.metadata.labels?.[EDGE_APPLICATION_LABEL] === 'labels',
      'other',
    );
  });

  it('deletes the objects of a removed manifest and of a removed target', async () => {
    await makeGroup('east');
    await makeGroup('west');
    await create(
      application('prune', [web(), settings('one'), settings('two')], [{ name: 'east' }, { name: 'west' }]),
    );
    await appears(DEPLOYMENTS, 'web-west');
    await appears(CONFIG_MAPS, 'two');
    await setManifests('prune', [web(), settings('two')]);
    await isGone(CONFIG_MAPS, 'one');
    await setTargets('prune', [{ name: 'east' }]);
    await isGone(DEPLOYMENTS, 'web-west');
    expect(await find(DEPLOYMENTS, 'web-east')).toBeDefined();
    expect(await find(CONFIG_MAPS, 'two')).toBeDefined();
  });

  it('deletes objects that an earlier process created', async () => {
    await create(application('restart', [settings('old', {}, { namespace: 'other' }), settings('new')]));
    await appears(CONFIG_MAPS, 'old', undefined, 'other');
    // Stop without waiting for a status report: objects are recorded in the status before they are created.
    await end();
    await setManifests('restart', [settings('new')]);
    start();
    await isGone(CONFIG_MAPS, 'old', 'other');
  });

  it('does not change objects when manifests are reordered', async () => {
    await create(application('order', [settings('o1'), settings('o2'), settings('o3')]));
    await readyBecomes('order', /True/);
    const before = await Promise.all(['o1', 'o2', 'o3'].map((name) => appears(CONFIG_MAPS, name)));
    await setManifests('order', [settings('o3'), settings('o1'), settings('o2')]);
    const after = await readyBecomes('order', /True/);
    expect(entryOf(after, 'o3')?.identifier.ordinal).toBe(0);
    for (const { metadata } of before) {
      const now = await find<ConfigMap>(CONFIG_MAPS, metadata.name!);
      expect(now?.metadata.uid).toBe(metadata.uid);
      expect(now?.metadata.resourceVersion).toBe(metadata.resourceVersion);
    }
  });

  it('keeps running objects unchanged after a bad override, and names the field in the status', async () => {
    await makeGroup('east');
    await create(application('bad', [web(), settings('kept')], [{ name: 'east' }]));
    const { metadata } = await appears(DEPLOYMENTS, 'web-east');
    await readyBecomes('bad', /Progressing/);
    const imageOverriders = [{ component: 'Repository', operator: 'remove' }];
    await change('bad', {
      spec: {
        workloadTemplate: { manifests: [web('web:2')] },
        workloadScope: { targetNodeGroups: [{ name: 'east', overriders: { imageOverriders } }] },
      },
    });
    const bad = await readyBecomes(
      'bad',
      /False RenderFailed: spec\.workloadScope\.targetNodeGroups\[0\]\.overriders\.imageOverriders\[0\]: /,
    );
    expect(entryOf(bad, 'web-east')?.conditions?.[1]).toMatchObject({
      status: 'False',
      reason: 'RenderFailed',
    });
    expect(entryOf(bad, 'kept')?.conditions?.[1]).toMatchObject({ status: 'False', reason: 'Kept' });
    const still = await find(DEPLOYMENTS, 'web-east');
    expect(still?.metadata).toMatchObject({ uid: metadata.uid, generation: 1 });
    expect(await find(CONFIG_MAPS, 'kept')).toBeDefined();
    await setTargets('bad', [{ name: 'east' }]);
    await isGone(CONFIG_MAPS, 'kept');
    await appears(
      DEPLOYMENTS,
      'web-east',
      ({ spec }) => spec?.template.spec?.containers[0]?.image === 'web:2',
    );
  });

  it('applies the other manifests when the API server rejects one', async () => {
    await create(application('partly', [settings('Not A Name'), settings('good')]));
    await appears(CONFIG_MAPS, 'good');
    const partly = await readyBecomes('partly', /False ApplyFailed/);
    expect(entryOf(partly, 'Not A Name')?.conditions?.[1]).toMatchObject({
      status: 'False',
      reason: 'ApplyFailed',
    });
    expect(entryOf(partly, 'good')?.conditions?.[1]).toMatchObject({ status: 'True' });
  });

  it('keeps the edition of a deleted pool, and updates it when the pool exists again', async () => {
    await makeGroup('brief');
    await create(application('pools', [web()], [{ name: 'brief' }, { name: 'later' }]));
    const { metadata } = await appears(DEPLOYMENTS, 'web-brief');
    await readyBecomes('pools', /PoolMissing: .*there is no NodeGroup or NodePool later/);
    await client.delete(NODE_GROUPS, { name: 'brief' });
    await readyBecomes('pools', /PoolMissing: .*NodePool brief; .*NodePool later/);
    expect((await find(DEPLOYMENTS, 'web-brief'))?.metadata.uid).toBe(metadata.uid);
    await client.create(NODE_POOLS, {
      apiVersion: 'apps.openyurt.io/v1beta2',
      kind: 'NodePool',
      metadata: { name: 'later' },
      spec: {},
    });
    const later = await appears(DEPLOYMENTS, 'web-later');
    expect(later.spec?.template.spec?.nodeSelector).toEqual({ 'apps.openyurt.io/nodepool': 'later' });
    await makeGroup('brief');
    await readyBecomes('pools', /Progressing/);
  });

  it('does not change objects of others, unless they get its labels', async () => {
    await client.create(CONFIG_MAPS, settings('foreign', { a: 'theirs' }), { namespace });
    await create(application('first', [settings('shared', { by: 'first' })]));
    await readyBecomes('first', /True/);
    await create(
      application('second', [settings('foreign', { a: 'ours' }), settings('shared', { by: 'second' })]),
    );
    const refused = await readyBecomes('second', /False Refused: .*delete it, or add the labels/);
    expect(readyText(refused)).toMatch(/belongs to EdgeApplication default\/first/);
    expect((await find(CONFIG_MAPS, 'foreign'))?.data).toEqual({ a: 'theirs' });
    await client.patch(CONFIG_MAPS, { name: 'foreign', namespace }, 'merge', {
      metadata: {
        labels: { [EDGE_APPLICATION_LABEL]: 'second', [EDGE_APPLICATION_NAMESPACE_LABEL]: namespace },
      },
    });
    await appears(CONFIG_MAPS, 'foreign', ({ data }) => data?.a === 'ours');
    await client.delete(EDGE_APPLICATIONS, { name: 'second', namespace });
    await isGone(EDGE_APPLICATIONS, 'second');
    // The application changed these objects, or named them, but it created neither.
    expect((await find(CONFIG_MAPS, 'foreign'))?.metadata.ownerReferences ?? []).toEqual([]);
    expect((await find(CONFIG_MAPS, 'shared'))?.data).toEqual({ by: 'first' });
  });

  it('prunes only what it created itself, whatever labels and field managers say', async () => {
    const labels = { [EDGE_APPLICATION_LABEL]: 'thief', [EDGE_APPLICATION_NAMESPACE_LABEL]: namespace };
    const before = settings('labeled', { a: 'theirs' });
    await client.create(CONFIG_MAPS, { ...before, metadata: { ...before.metadata, labels } }, { namespace });
    await create(application('thief', [settings('labeled', { a: 'mine' }), settings('made', {})]));
    await readyBecomes('thief', /True/);
    const { metadata: made } = await appears(CONFIG_MAPS, 'made');
    await appears(EDGE_APPLICATIONS, 'thief', ({ status }) =>
      (status?.manifestStatuses ?? []).some(({ identifier }) => identifier.uid === made.uid),
    );
    await client.patch(EDGE_APPLICATIONS, { name: 'thief', namespace }, 'merge', {
      spec: { workloadTemplate: { manifests: [settings('other', {})] } },
    });
    await isGone(CONFIG_MAPS, 'made');
    await readyBecomes('thief', /True/);
    expect((await find(CONFIG_MAPS, 'labeled'))?.data).toEqual({ a: 'mine' });
    await client.delete(EDGE_APPLICATIONS, { name: 'thief', namespace });
    await isGone(EDGE_APPLICATIONS, 'thief');
    await isGone(CONFIG_MAPS, 'other');
    expect(await find(CONFIG_MAPS, 'labeled')).toBeDefined();
  });

  it('does not prune an object of another controller that a user names in the application and its status', async () => {
    // The owner exists, because the garbage collector deletes objects of owners that do not.
    const db = await client.create<KubeObject>(CONFIG_MAPS, settings('db'), { namespace });
    const { uid = '' } = db.metadata;
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'db', uid, controller: true }];
    await client.create(CONFIG_MAPS, settings('victim', { a: '1' }, { namespace, ownerReferences }), {
      namespace,
    });
    await end();
    const evil = application('evil', [settings('own')]);
    await create({ ...evil, metadata: { ...evil.metadata, ownerReferences } });
    const identifier = { ordinal: 0, version: 'v1', kind: 'ConfigMap', resource: 'configmaps', namespace };
    await client.patch(EDGE_APPLICATIONS, { name: 'evil', namespace, subresource: 'status' }, 'merge', {
      status: { manifestStatuses: [{ identifier: { ...identifier, name: 'victim' } }] },
    });
    // Without a memory of what it wrote, as after an update of the manager.
    start();
    await readyBecomes('evil', /True/);
    await client.delete(EDGE_APPLICATIONS, { name: 'evil', namespace });
    await isGone(EDGE_APPLICATIONS, 'evil');
    const victim = await find(CONFIG_MAPS, 'victim');
    expect(victim?.metadata.deletionTimestamp).toBeUndefined();
    expect(victim?.data).toEqual({ a: '1' });
    await client.delete(CONFIG_MAPS, { name: 'db', namespace });
    await isGone(CONFIG_MAPS, 'victim');
  });

  it('deletes objects in other namespaces and cluster-scoped objects before the application is gone', async () => {
    const role = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'apps-test' },
      rules: [],
    };
    const held = settings('held', {}, { finalizers: ['example.com/hold'] });
    await create(application('clean', [held, settings('away', {}, { namespace: 'other' }), role]));
    await readyBecomes('clean', /True/);
    expect((await find(CONFIG_MAPS, 'held'))?.metadata.ownerReferences).toMatchObject([{ name: 'clean' }]);
    expect((await find(CONFIG_MAPS, 'away', 'other'))?.metadata.ownerReferences).toBeUndefined();
    await client.delete(EDGE_APPLICATIONS, { name: 'clean', namespace });
    await isGone(CONFIG_MAPS, 'away', 'other');
    await isGone(CLUSTER_ROLES, 'apps-test');
    await appears(CONFIG_MAPS, 'held', ({ metadata }) => metadata.deletionTimestamp !== undefined);
    expect(await find(EDGE_APPLICATIONS, 'clean')).toBeDefined();
    await client.patch(CONFIG_MAPS, { name: 'held', namespace }, 'merge', { metadata: { finalizers: null } });
    await isGone(EDGE_APPLICATIONS, 'clean');
  });

  it('keeps all objects when the application is deleted with --cascade=orphan', async () => {
    await create(application('orphan', [settings('stays')]));
    await readyBecomes('orphan', /True/);
    await client.delete(EDGE_APPLICATIONS, { name: 'orphan', namespace }, { propagationPolicy: 'Orphan' });
    await isGone(EDGE_APPLICATIONS, 'orphan');
    const stays = await find(CONFIG_MAPS, 'stays');
    expect(stays?.metadata.deletionTimestamp).toBeUndefined();
    expect(stays).toBeDefined();
    await client.delete(CONFIG_MAPS, { name: 'stays', namespace });
  });

  it('reconciles only the application whose object has changed', async () => {
    for (const name of ['many-1', 'many-2', 'many-3'])
      await create(application(name, [settings(name, { a: '1' })]));
    for (const name of ['many-1', 'many-2', 'many-3']) await readyBecomes(name, /True/);
    reconciled.length = 0;
    await client.patch(CONFIG_MAPS, { name: 'many-2', namespace }, 'merge', { data: { a: '2' } });
    await appears(CONFIG_MAPS, 'many-2', ({ data }) => data?.a === '1');
    await eventually(() => reconciled.length > 0 || undefined);
    expect(new Set(reconciled)).toEqual(new Set(['default/many-2']));
  });
});
