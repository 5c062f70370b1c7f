/** What the account of the webhook can do to webhook configurations: with it, an attacker could see and change every request. */
import { readdirSync } from 'node:fs';
import {
  ApiStatusError,
  fixedCredential,
  KubeClient,
  type KubeObject,
  type Logger,
  loadConfig,
  type Resource,
  silentLogger,
} from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Embedded, startEmbedded } from '../support/embedded.ts';
import { Kubectl } from '../support/kubectl.ts';
import { eventually } from '../support/patience.ts';
import { reservePort } from '../support/ports.ts';
import {
  authorizationOf,
  DEPLOY,
  type Manager,
  startManager,
  VALIDATING_CONFIGURATIONS,
  webhookObjects,
} from './support.ts';

interface Webhook {
  name: string;
  failurePolicy: string;
  clientConfig: { url?: string; service?: object; caBundle?: string };
  matchConditions?: { name: string; expression: string }[];
  [field: string]: unknown;
}
interface Configuration extends KubeObject {
  webhooks: Webhook[];
}
const VALIDATING = VALIDATING_CONFIGURATIONS as Resource<Configuration>;
const MUTATING: Resource<Configuration> = { ...VALIDATING, resource: 'mutatingwebhookconfigurations' };
const NAME = { name: 'tidegate' };
const TWO_FIELDS = 'this account can only change the CA bundles and the conditions of webhooks';
const BEFORE_1_30 = 'webhooks-before-1.30.yaml';

let server: Embedded;
let kubectl: Kubectl;
let admin: KubeClient;
let account: KubeClient;
let url: string;
let port: number;
const problems: string[] = [];

/** Collects the problems of webhook configurations in log entries. */
const log: Logger = {
  ...silentLogger,
  warn: (fields: object) => problems.push(...((fields as { problems?: string[] }).problems ?? [])),
  child: () => log,
} as Logger;
const start = (client: KubeClient): Promise<Manager> =>
  startManager(client, {
    parts: ['admission'],
    webhook: { host: '127.0.0.1', port },
    installDefinitions: false,
    log,
  });
const webhook = async (name: string): Promise<Webhook> => {
  const { webhooks } = await admin.get(VALIDATING, NAME);
  return webhooks.find((each) => each.name === `${name}.tidegate.io`)!;
};
const poolIsBad = (): Promise<unknown> =>
  kubectl.apply({
    apiVersion: 'apps.openyurt.io/v1beta1',
    kind: 'NodePool',
    metadata: { name: 'bad' },
    spec: { labels: { 'a b': 'c' } },
  });

beforeAll(async () => {
  server = await startEmbedded();
  kubectl = new Kubectl(server.kubeconfig);
  const config = await loadConfig({ path: server.kubeconfig, env: {} });
  admin = new KubeClient(config);
  port = await reservePort();
  url = `https://127.0.0.1:${port}`;
  await kubectl.run(`apply --server-side -k ${DEPLOY}/crds`);
  // Everything but the webhook configurations, which the tests apply themselves.
  const all = readdirSync(`${DEPLOY}/base`).filter((name) => !/^(kustomization|webhooks)/.test(name));
  const isFirst = (name: string): boolean => name.startsWith('namespace');
  const files = [...all.filter(isFirst), ...all.filter((name) => !isFirst(name))];
  await kubectl.run(`apply --server-side ${files.map((name) => `-f ${DEPLOY}/base/${name}`).join(' ')}`);
  const authorization = await authorizationOf(admin, 'tidegate-admission');
  account = new KubeClient({ ...config, credentials: fixedCredential({ authorization }) });
});
afterAll(async () => {
  await Promise.all([account.close(), admin.close()]);
  await server.stop();
});

describe('with Kubernetes before 1.30', () => {
  let old: KubeClient;
  let manager: Manager;
  beforeAll(async () => {
    old = new KubeClient(account.config);
    const { resources } = old.discovery;
    old.discovery.resources = async () =>
      (await resources.call(old.discovery)).filter(
        ({ resource }) => !resource.startsWith('validatingadmissionpolicies'),
      );
  });
  afterAll(async () => {
    await manager.stop();
    await old.close();
  });

  it('reports configurations that do not exist, or have another authority', async () => {
    manager = await start(old);
    expect(problems.splice(0)).toEqual([
      'ValidatingWebhookConfiguration tidegate does not exist: apply deploy/webhooks-before-1.30.yaml',
      'MutatingWebhookConfiguration tidegate does not exist: apply deploy/webhooks-before-1.30.yaml',
    ]);
    await manager.stop();
    await kubectl.apply(...(await withBundle('')));
    manager = await start(old);
    expect(problems.splice(0)).toEqual([
      expect.stringContaining(
        'ValidatingWebhookConfiguration tidegate: the CA bundle or the conditions are not current',
      ),
      expect.stringContaining(
        'MutatingWebhookConfiguration tidegate: the CA bundle or the conditions are not current',
      ),
    ]);
  });

  it('works with the CA bundle that an administrator copies', async () => {
    await manager.stop();
    const { data } = await kubectl.json<{ data: Record<string, string> }>(
      'get secret tidegate-webhook -n tidegate-system',
    );
    await kubectl.apply(...(await withBundle(data['ca.crt'] ?? '')));
    manager = await start(old);
    expect(problems.splice(0)).toEqual([]);
    await expect(poolIsBad()).rejects.toThrow('spec.labels: key "a b"');
  });

  it('has no condition, and does not fail closed for heartbeats of nodes', async () => {
    const { webhooks } = await admin.get(VALIDATING, NAME);
    expect(webhooks.filter(({ matchConditions }) => matchConditions !== undefined)).toEqual([]);
    const closed = webhooks.filter(({ failurePolicy }) => failurePolicy === 'Fail').map(({ name }) => name);
    expect(closed).toEqual([
      'edgeapplications.apps.kubeedge.io.tidegate.io',
      'status.edgeapplications.apps.kubeedge.io.tidegate.io',
      'yurtappsets.apps.openyurt.io.tidegate.io',
      'yurtappdaemons.apps.openyurt.io.tidegate.io',
      'yurtappoverriders.apps.openyurt.io.tidegate.io',
    ]);
  });

  async function withBundle(caBundle: string): Promise<KubeObject[]> {
    const objects = (await webhookObjects(url, BEFORE_1_30)) as Configuration[];
    for (const { webhooks } of objects)
      for (const { clientConfig } of webhooks) {
        expect(clientConfig.caBundle).toBe('CA_BUNDLE');
        clientConfig.caBundle = caBundle;
      }
    return objects;
  }
});

describe('with Kubernetes 1.30 and later', () => {
  let manager: Manager;
  beforeAll(async () => {
    await kubectl.apply(...(await webhookObjects(url)));
    manager = await start(account);
  });
  afterAll(() => manager.stop());

  it('the account writes the CA bundle and the conditions', async () => {
    expect(problems).toEqual([]);
    await expect(poolIsBad()).rejects.toThrow('spec.labels: key "a b"');
    await kubectl.apply({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: 'gold' },
      spec: { controller: 'tidegate.io/nginx' },
    });
    await eventually(async () =>
      (await webhook('ingresses.networking.k8s.io')).matchConditions?.[0]?.expression.includes('gold'),
    );
  });

  type Change = (webhook: Webhook) => void;
  const attacks: [string, Change][] = [
    ['the rules', (each) => (each.rules = [anything])],
    ['the URL', (each) => (each.clientConfig.url = 'https://attacker.example/')],
    [
      'a Service in place of the URL',
      (each) => (each.clientConfig = { service: { namespace: 'a', name: 'b' } }),
    ],
    [
      'the failure policy',
      (each) => (each.failurePolicy = each.failurePolicy === 'Fail' ? 'Ignore' : 'Fail'),
    ],
    ['the match policy', (each) => (each.matchPolicy = 'Exact')],
    ['the namespaces', (each) => (each.namespaceSelector = { matchLabels: { a: 'b' } })],
    ['the objects', (each) => (each.objectSelector = { matchLabels: { a: 'b' } })],
    ['the timeout', (each) => (each.timeoutSeconds = 30)],
    ['the name', (each) => (each.name = 'a.b.c')],
    ['the side effects', (each) => (each.sideEffects = 'NoneOnDryRun')],
    ['the versions', (each) => (each.admissionReviewVersions = ['v1beta1', 'v1'])],
  ];
  const anything = {
    apiGroups: ['*'],
    apiVersions: ['*'],
    resources: ['*/*'],
    operations: ['*'],
    scope: '*',
  };

  it.each(attacks)('the account cannot change %s', async (_, change) => {
    for (const resource of [VALIDATING, MUTATING]) {
      const { webhooks } = await admin.get(resource, NAME);
      change(webhooks[0]!);
      await denied(account.patch(resource, NAME, 'merge', { webhooks }), TWO_FIELDS);
    }
  });

  it('the account cannot change how often a mutating webhook is called', async () => {
    const { webhooks } = await admin.get(MUTATING, NAME);
    webhooks[0]!.reinvocationPolicy = 'IfNeeded';
    await denied(account.patch(MUTATING, NAME, 'merge', { webhooks }), TWO_FIELDS);
  });

  it('the account cannot add or remove a webhook, with any kind of patch', async () => {
    const { webhooks } = await admin.get(VALIDATING, NAME);
    const more = { ...webhooks[0]!, name: 'more.tidegate.io', rules: [anything] };
    await denied(account.patch(VALIDATING, NAME, 'merge', { webhooks: [...webhooks, more] }));
    await denied(account.patch(VALIDATING, NAME, 'merge', { webhooks: webhooks.slice(1) }));
    await denied(account.patch(VALIDATING, NAME, 'json', [{ op: 'add', path: '/webhooks/-', value: more }]));
    await denied(account.patch(VALIDATING, NAME, 'strategic', { webhooks: [more] }));
    const apply = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration' };
    const object = { ...apply, metadata: NAME, webhooks: [more] };
    await denied(account.patch(VALIDATING, NAME, 'apply', object, { fieldManager: 'x', force: true }));
  });

  it.each([
    ['labels', { a: 'b' }],
    ['annotations', { a: 'b' }],
    ['finalizers', ['example.com/keep']],
    // The garbage collector would delete the configuration, because the owner does not exist.
    ['ownerReferences', [{ apiVersion: 'v1', kind: 'Node', name: 'gone', uid: 'gone' }]],
  ])('the account cannot change %s of a configuration', async (field, value) => {
    for (const resource of [VALIDATING, MUTATING])
      await denied(
        account.patch(resource, NAME, 'merge', { metadata: { [field]: value } }),
        'this account cannot change the metadata of webhook configurations',
      );
  });

  it('the account cannot create, replace or delete a configuration, or change another', async () => {
    const live = await admin.get(VALIDATING, NAME);
    await denied(account.update(VALIDATING, live));
    await denied(account.delete(VALIDATING, NAME));
    const other = { ...live, metadata: { name: 'other' } };
    await denied(account.create(VALIDATING, other));
    await admin.create(VALIDATING, other);
    await denied(account.patch(VALIDATING, { name: 'other' }, 'merge', { metadata: { labels: { a: 'b' } } }));
    await admin.delete(VALIDATING, { name: 'other' });
  });

  it('the account cannot change the policy that limits it', async () => {
    const policies = { ...VALIDATING, resource: 'validatingadmissionpolicies' };
    for (const resource of [policies, { ...policies, resource: 'validatingadmissionpolicybindings' }]) {
      await denied(account.delete(resource, { name: 'tidegate-webhooks' }));
      await denied(account.patch(resource, { name: 'tidegate-webhooks' }, 'merge', { spec: {} }));
    }
  });

  it('the manager repairs the CA bundle, and reports rules that are not as expected', async () => {
    const objects = await webhookObjects(url);
    const [changed] = (objects as Configuration[]).filter(
      ({ kind }) => kind === 'ValidatingWebhookConfiguration',
    );
    changed!.webhooks[0]!.failurePolicy = 'Fail';
    changed!.webhooks[0]!.clientConfig.caBundle = '';
    await kubectl.apply(changed!);
    await manager.stop();
    manager = await start(account);
    expect(problems.splice(0)).toEqual([
      'ValidatingWebhookConfiguration tidegate: webhook nodepools.apps.openyurt.io.tidegate.io has another failurePolicy than this version expects: apply deploy/base/webhooks.yaml of this version',
    ]);
    await expect(poolIsBad()).rejects.toThrow('spec.labels: key "a b"');
  });
});

async function denied(request: Promise<unknown>, text = 'forbidden'): Promise<void> {
  const error = await request.then(
    () => new Error('the API server accepted it'),
    (error: unknown) => error,
  );
  if (!(error instanceof ApiStatusError)) throw error;
  expect([403, 422]).toContain(error.code);
  expect(error.message).toContain(text);
}
