/** The targets of applications on the embedded API server: which pool a name stands for, and the scope of Services. */
import { DEPLOYMENTS, type KubeClient, NODES, type ObjectMeta, SERVICES } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  EDGE_APPLICATIONS,
  NODE_GROUPS,
  NODE_POOLS,
  SERVICE_TARGETS_ANNOTATION,
} from '../../packages/tidegate/src/api/index.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { application, deployment, observe, runApplications } from './support.ts';

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web' },
  spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
};

describe('the targets of an application', () => {
  let server: EmbeddedWithKinds;
  let client: KubeClient;
  let end: () => Promise<void>;
  beforeAll(async () => {
    server = await startEmbeddedWithKinds();
    client = server.client;
    end = runApplications(client);
  });
  afterAll(async () => {
    await end();
    await server.stop();
  });

  const makePool = (name: string) =>
    client.create(NODE_POOLS, {
      apiVersion: 'apps.openyurt.io/v1beta2',
      kind: 'NodePool',
      metadata: { name },
      spec: {},
    });
  const makeGroup = (name: string) =>
    client.create(NODE_GROUPS, {
      apiVersion: 'apps.kubeedge.io/v1alpha1',
      kind: 'NodeGroup',
      metadata: { name },
      spec: {},
    });
  const targetsOf = (name: string, fits: (targets: string) => boolean) =>
    observe(client).appears(SERVICES, name, ({ metadata }) =>
      fits(metadata.annotations?.[SERVICE_TARGETS_ANNOTATION] ?? ''),
    );

  it('keep the older pool when a pool of the other kind gets the same name', async () => {
    const { appears, find } = observe(client);
    const { metadata } = await makePool('hangzhou');
    await client.create(
      EDGE_APPLICATIONS,
      application('old', [deployment()], { targetNodeGroups: [{ name: 'hangzhou' }] }),
    );
    const selector = { 'apps.openyurt.io/nodepool': 'hangzhou' };
    const before = await appears(DEPLOYMENTS, 'web-hangzhou');
    expect(before.spec?.template.spec?.nodeSelector).toEqual(selector);
    // Times have a resolution of one second.
    while (Date.now() < Date.parse((metadata as ObjectMeta).creationTimestamp!) + 1_000)
      await new Promise((resolve) => setImmediate(resolve));
    await makeGroup('hangzhou');
    await client.patch(EDGE_APPLICATIONS, { name: 'old', namespace: 'default' }, 'merge', {
      spec: { workloadTemplate: { manifests: [deployment(), service] } },
    });
    await appears(SERVICES, 'web');
    expect((await find(DEPLOYMENTS, 'web-hangzhou'))?.spec?.template.spec?.nodeSelector).toEqual(selector);
    await client.patch(EDGE_APPLICATIONS, { name: 'old', namespace: 'default' }, 'merge', {
      spec: { workloadScope: { targetNodeGroups: [{ name: 'hangzhou', kind: 'NodeGroup' }] } },
    });
    await appears(DEPLOYMENTS, 'web-hangzhou', ({ spec }) =>
      Object.hasOwn(spec?.template.spec?.nodeSelector ?? {}, 'apps.kubeedge.io/belonging-to'),
    );
    await targetsOf('web', (targets) => targets === '{"nodeGroups":["hangzhou"]}');
    await client.delete(EDGE_APPLICATIONS, { name: 'old', namespace: 'default' });
    await observe(client).isGone(EDGE_APPLICATIONS, 'old');
  });

  it('are in the annotation of its Services, with the nodes that labels select', async () => {
    const node = (name: string, labels: Record<string, string>) =>
      client.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
    await makePool('beijing');
    await node('n1', { line: 'red' });
    await node('n2', { line: 'blue' });
    await client.create(
      EDGE_APPLICATIONS,
      application('lines', [{ ...service, metadata: { name: 'lines' } }], {
        targetNodeGroups: [{ name: 'beijing' }],
        targetNodeLabels: [{ labelSelector: { matchLabels: { line: 'red' } } }],
      }),
    );
    await targetsOf('lines', (targets) => targets === '{"nodePools":["beijing"],"nodes":[["n1"]]}');
    await client.patch(NODES, { name: 'n2' }, 'merge', { metadata: { labels: { line: 'red' } } });
    await targetsOf('lines', (targets) => targets.endsWith('"nodes":[["n1","n2"]]}'));
    await client.patch(NODES, { name: 'n1' }, 'merge', { metadata: { labels: { line: 'green' } } });
    await targetsOf('lines', (targets) => targets.endsWith('"nodes":[["n2"]]}'));
    await client.delete(NODES, { name: 'n2' });
    await targetsOf('lines', (targets) => targets.endsWith('"nodes":[[]]}'));
    await client.delete(EDGE_APPLICATIONS, { name: 'lines', namespace: 'default' });
    await observe(client).isGone(EDGE_APPLICATIONS, 'lines');
  });
});
