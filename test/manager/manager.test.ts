/** The manager with a real API server: installation, admission, leader election and shutdown. */
import { X509Certificate } from 'node:crypto';
import {
  ApiStatusError,
  getCondition,
  INGRESS_CLASSES,
  INGRESSES,
  isNotFound,
  KubeClient,
  type KubeObject,
  LEASES,
  loadConfig,
  NODES,
  type Resource,
  SECRETS,
} from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  EDGE_APPLICATIONS,
  NODE_GROUPS,
  NODE_POOL_LABEL,
  NODE_POOLS,
} from '../../packages/tidegate/src/api/index.ts';
import { type Embedded, startEmbedded } from '../support/embedded.ts';
import { Kubectl } from '../support/kubectl.ts';
import { linesLogger } from '../support/lines-logger.ts';
import { eventually } from '../support/patience.ts';
import { type Manager, startManager } from './support.ts';

const CONFIGURATIONS: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingwebhookconfigurations',
  namespaced: false,
};
const SECRET = { namespace: 'tidegate-system', name: 'tidegate-webhook' };

let server: Embedded;
let client: KubeClient;
beforeAll(async () => {
  server = await startEmbedded();
  client = await newClient();
});
afterAll(async () => {
  await client.close();
  await server.stop();
});

const newClient = async (): Promise<KubeClient> =>
  new KubeClient(await loadConfig({ path: server.kubeconfig, env: {} }));
const pool = (name: string, spec: object = {}): KubeObject => ({
  apiVersion: 'apps.openyurt.io/v1beta2',
  kind: 'NodePool',
  metadata: { name },
  spec,
});
const group = (name: string, spec: object): KubeObject => ({
  apiVersion: 'apps.kubeedge.io/v1alpha1',
  kind: 'NodeGroup',
  metadata: { name },
  spec,
});
const application = (name: string, spec: object): KubeObject => ({
  apiVersion: 'apps.kubeedge.io/v1alpha1',
  kind: 'EdgeApplication',
  metadata: { name, namespace: 'default' },
  spec,
});
const makeNode = (name: string, labels: Record<string, string>): Promise<KubeObject> =>
  client.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
const refusal = (request: Promise<unknown>): Promise<ApiStatusError> =>
  request.then(
    () => Promise.reject(new Error('the API server accepted the object')),
    (error: unknown) => (error instanceof ApiStatusError ? error : Promise.reject(error)),
  );
const membersOf = async (name: string): Promise<string[]> =>
  (await client.get(NODE_POOLS, { name })).status?.nodes ?? [];

describe('admission', () => {
  let manager: Manager;
  beforeAll(async () => {
    manager = await startManager(client);
  });
  afterAll(() => manager.stop());

  it('rejects the deletion of a pool with nodes, and lists them', async () => {
    await makeNode('n1', { [NODE_POOL_LABEL]: 'held' });
    await client.create(NODE_POOLS, pool('held'));
    await eventually(async () => (await membersOf('held')).includes('n1'));
    const error = await refusal(client.delete(NODE_POOLS, { name: 'held' }));
    expect(error.code).toBe(403);
    expect(error.message).toBe(
      'admission webhook "nodepools.apps.openyurt.io.tidegate.io" denied the request: NodePool held cannot be ' +
        'deleted: the pool still has nodes: n1; remove the label apps.openyurt.io/nodepool from them, or set the ' +
        'label apps.openyurt.io/desired-nodepool to another pool',
    );
    await client.patch(NODES, { name: 'n1' }, 'merge', { metadata: { labels: { [NODE_POOL_LABEL]: null } } });
    await eventually(async () => (await membersOf('held')).length === 0);
    await client.delete(NODE_POOLS, { name: 'held' });
    await eventually(() => client.get(NODE_POOLS, { name: 'held' }).then(() => false, isNotFound));
  });

  it('reports every field that is not valid on a node', async () => {
    const spec = {
      labels: { 'a b': 'c' },
      taints: [
        { key: 'k', effect: 'NoSchedule' },
        { key: 'k', effect: 'NoSchedule', value: 'other' },
      ],
    };
    const error = await refusal(client.create(NODE_POOLS, pool('bad', spec)));
    expect(error.code).toBe(422);
    expect(error.details?.causes?.map(({ field }) => field)).toEqual(['spec.labels', 'spec.taints[1]']);
    expect(error.message).toMatch(/NodePool\.apps\.openyurt\.io "bad" is invalid: \[spec\.labels: key "a b"/);
  });

  it('checks older versions of a kind too', async () => {
    const old = { ...pool('old', { labels: { x: '-' } }), apiVersion: 'apps.openyurt.io/v1alpha1' };
    const error = await refusal(client.create({ ...NODE_POOLS, version: 'v1alpha1' }, old));
    expect(error.message).toContain('spec.labels: value "-" of x');
  });

  it('does not check a stored spec that does not change', async () => {
    await client.create(NODE_GROUPS, group('odd', { matchLabels: { ok: 'yes' } }));
    const error = await refusal(
      client.patch(NODE_GROUPS, { name: 'odd' }, 'merge', { spec: { matchLabels: { 'a b': 'c' } } }),
    );
    expect(error.message).toContain('spec.matchLabels: key "a b"');
    await client.patch(NODE_GROUPS, { name: 'odd' }, 'merge', { metadata: { labels: { touched: 'yes' } } });
  });

  it('warns about likely mistakes', async () => {
    const kubectl = new Kubectl(server.kubeconfig);
    const output = await kubectl.apply(
      group('void', {}),
      group('early', { nodes: ['not-yet'] }),
      application('lost', { workloadScope: { targetNodeGroups: [{ name: 'nowhere' }] } }),
    );
    expect(output).toContain('Warning: spec: the group selects no nodes');
    expect(output).toContain('Warning: spec.nodes[0]: node "not-yet" not found');
    expect(output).toContain(
      'Warning: spec.workloadScope.targetNodeGroups[0].name: NodeGroup or NodePool "nowhere" not found; nothing is deployed there until it exists',
    );
  });

  it('rejects an application that cannot be rendered, with the field path', async () => {
    const error = await refusal(
      client.create(
        EDGE_APPLICATIONS,
        application('wrong', {
          workloadTemplate: { manifests: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: {} }] },
          workloadScope: { targetNodeGroups: [{ name: 'a' }] },
        }),
      ),
    );
    expect(error.code).toBe(422);
    expect(error.message).toContain(
      'spec.workloadTemplate.manifests[0].metadata.name: a name is required; generateName is not supported',
    );
  });

  it('reviews annotations of an Ingress that come with its status', async () => {
    await client.create(INGRESS_CLASSES, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: 'edge' },
      spec: { controller: 'tidegate.io/embedded' },
    });
    const backend = { service: { name: 'web', port: { number: 80 } } };
    await client.create(INGRESSES, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name: 'web', namespace: 'default' },
      spec: { ingressClassName: 'edge', defaultBackend: backend },
    });
    const target = { name: 'web', namespace: 'default', subresource: 'status' };
    const annotations = { 'nginx.ingress.kubernetes.io/enable-modsecurity': 'true' };
    // The conditions of the webhook follow the classes.
    await eventually(async () => {
      const change = client.patch(
        INGRESSES,
        target,
        'merge',
        { metadata: { annotations } },
        { dryRun: true },
      );
      return change.then(
        () => false,
        ({ message }: Error) => message.includes('nginx.ingress.kubernetes.io/enable-modsecurity'),
      );
    });
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } };
    await client.patch(INGRESSES, target, 'merge', { status });
    await client.delete(INGRESSES, { name: 'web', namespace: 'default' });
    await client.delete(INGRESS_CLASSES, { name: 'edge' });
  });

  it('is registered again after its configuration was deleted and the manager restarted', async () => {
    await client.delete(CONFIGURATIONS, { name: 'tidegate' });
    await manager.stop();
    manager = await startManager(client);
    await refusal(client.create(NODE_POOLS, pool('bad', { labels: { 'a b': 'c' } })));
  });
});

describe('several managers', () => {
  const running: Manager[] = [];
  const clients: KubeClient[] = [];
  const start = async (identity: string): Promise<Manager> => {
    const own = await newClient();
    const manager = await startManager(own, { identity, leaderElection: true });
    clients.push(own);
    running.push(manager);
    return manager;
  };
  afterEach(async () => {
    await Promise.all(running.splice(0).map((manager) => manager.stop()));
    await Promise.all(clients.splice(0).map((own) => own.close()));
  });
  const holder = async (): Promise<string | undefined | null> =>
    (await client.get(LEASES, { namespace: 'tidegate-system', name: 'tidegate-pools' })).spec?.holderIdentity;

  it('share one certificate authority and elect one leader', async () => {
    await client.delete(SECRETS, SECRET);
    await Promise.all([start('a'), start('b'), start('c')]);
    const { data = {} } = await client.get(SECRETS, SECRET);
    const bundle = Buffer.from(data['ca.crt'] ?? '', 'base64').toString();
    expect(bundle.match(/BEGIN CERTIFICATE/g)).toHaveLength(1);
    expect(new X509Certificate(bundle).ca).toBe(true);
    const { webhooks } = (await client.get(CONFIGURATIONS, { name: 'tidegate' })) as KubeObject & {
      webhooks: { clientConfig: { caBundle: string } }[];
    };
    expect(webhooks.map(({ clientConfig }) => clientConfig.caBundle)).toEqual(
      webhooks.map(() => data['ca.crt']),
    );
    expect(['a', 'b', 'c']).toContain(await eventually(async () => (await holder()) ?? undefined));
  });

  it('elect a new leader immediately when the leader stops', async () => {
    const first = await start('first');
    await eventually(async () => (await holder()) === 'first');
    await start('second');
    await first.stop();
    await eventually(async () => (await holder()) === 'second');
  });
});

it('continues after it has lost a lease, and reports it in the log', async () => {
  const log = linesLogger();
  const own = await newClient();
  const manager = await startManager(own, { identity: 'loser', leaderElection: true, log });
  const lease = { namespace: 'tidegate-system', name: 'tidegate-pools' };
  const holder = async (): Promise<string | undefined> =>
    (await client.get(LEASES, lease)).spec?.holderIdentity;
  const setHolder = (holderIdentity: string): Promise<KubeObject> =>
    client.patch(LEASES, lease, 'merge', { spec: { holderIdentity } });
  const webhookUrl = async (): Promise<string> => {
    const { webhooks } = (await client.get(CONFIGURATIONS, { name: 'tidegate' })) as KubeObject & {
      webhooks: { clientConfig: { url: string } }[];
    };
    return `${webhooks[0]?.clientConfig.url}`;
  };
  await eventually(async () => (await holder()) === 'loser');
  const url = await webhookUrl();
  await setHolder('thief');
  await eventually(async () => log.lines.some((line) => line.includes('a lease is lost')));
  // Admission does not depend on leases: it is ready, and answers.
  expect(await (await fetch(`http://127.0.0.1:${manager.healthPort}/readyz`)).text()).toBe('ok');
  await refusal(client.create(NODE_POOLS, pool('bad', { labels: { 'a b': 'c' } })));
  // Released, as when the other leader stops.
  await setHolder('');
  await eventually(async () => (await holder()) === 'loser');
  await client.create(NODE_POOLS, pool('after'));
  await eventually(async () => {
    const { status } = await client.get(NODE_POOLS, { name: 'after' });
    return getCondition(status?.conditions, 'Ready') !== undefined;
  });
  // The webhook has a free port, so another server would have another one.
  expect(await webhookUrl()).toBe(url);
  await manager.stop();
  await own.close();
  await client.delete(NODE_POOLS, { name: 'after' });
});

it('reports its health, and releases everything when it stops', async () => {
  const manager = await startManager(client);
  const base = `http://127.0.0.1:${manager.healthPort}`;
  const [healthz, readyz, metrics] = await Promise.all(
    ['/healthz', '/readyz', '/metrics'].map(async (path) => (await fetch(`${base}${path}`)).text()),
  );
  expect([healthz, readyz]).toEqual(['ok', 'ok']);
  expect(metrics).toContain('tidegate_controller_runtime_reconcile_total');
  expect((await fetch(`${base}/other`)).status).toBe(404);
  await manager.stop();
  await expect(fetch(`${base}/healthz`)).rejects.toThrow();
});
