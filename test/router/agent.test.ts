/** Tests the agent with the embedded API server and a driver that only records the deltas it gets. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CONFIG_MAPS,
  ENDPOINT_SLICES,
  fixedCredential,
  INGRESS_CLASSES,
  INGRESSES,
  KubeClient,
  type KubeObject,
  loadConfig,
  Metrics,
  NAMESPACES,
  NODES,
  type Resource,
  SECRETS,
  SERVICES,
  silentLogger,
} from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  CLUSTER_ROUTE_POLICIES,
  HOST_CLAIMS,
  L7_ROUTERS,
  ROUTE_POLICIES,
} from '../../packages/tidegate/src/api/index.ts';
import { clientSettingsOf } from '../../packages/tidegate/src/ingress/clients/index.ts';
import { TestAuthority } from '../../packages/tidegate/src/ingress/testing/certificates.ts';
import {
  classWithHeaders,
  configMap,
  hostClaim,
  ingress,
  secret,
  service,
  slice,
} from '../../packages/tidegate/src/ingress/testing/objects.ts';
import { type RouterOptions, runRouter } from '../../packages/tidegate/src/router/index.ts';
import { RecordingDriver } from '../../packages/tidegate/src/router/testing/recording-driver.ts';
import { accountToken, allowReading } from '../support/accounts.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';

const authority = new TestAuthority();
let cluster: EmbeddedWithKinds;
let directory: string;
let namespace: string;
let count = 0;

beforeAll(async () => {
  cluster = await startEmbeddedWithKinds();
});
afterAll(() => cluster.stop());

/** A router that runs until `stop`. */
class Running {
  readonly driver = new RecordingDriver();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  admin = 0;

  constructor(options: Partial<RouterOptions> = {}) {
    this.#running = runRouter({
      client: cluster.client,
      driver: this.driver,
      classNames: ['gold'],
      agentName: 'agent-1',
      stateDirectory: directory,
      admin: { host: '127.0.0.1', port: 0 },
      noticeMs: 0,
      drainMs: 1_000,
      log: silentLogger,
      metrics: new Metrics(),
      signal: this.#stop.signal,
      onListening: ({ admin }) => {
        this.admin = admin;
      },
      ...options,
    });
  }

  async ready(): Promise<this> {
    await expect.poll(() => this.ask('/readyz').catch(() => undefined)).toMatchObject({ code: 200 });
    return this;
  }

  async ask(path: string): Promise<{ code: number; body: string }> {
    const answer = await fetch(`http://127.0.0.1:${this.admin}${path}`);
    return { code: answer.status, body: await answer.text() };
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

let routers: Running[] = [];
const run = (options?: Partial<RouterOptions>): Running => {
  const router = new Running(options);
  routers.push(router);
  return router;
};

const create = (resource: Resource, object: KubeObject): Promise<KubeObject> =>
  cluster.client.create(resource, { ...object, metadata: { ...object.metadata, namespace } });
const update = (resource: Resource, object: KubeObject): Promise<KubeObject> =>
  cluster.client.update(resource, { ...object, metadata: { ...object.metadata, namespace } });
const host = (name: string): string => `${name}.${namespace}.example`;
const web = (rules: Record<string, string>, rest: object = {}) => ingress({ ...rest, rules });

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-test-'));
  namespace = `shop-${++count}`;
  routers = [];
  await cluster.client.create(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
  await create(SERVICES, service('web'));
  await create(ENDPOINT_SLICES, slice('web', { '10.0.0.1': {} }));
});
afterEach(async () => {
  await Promise.all(routers.map((router) => router.stop()));
  await cluster.client.deleteCollection(INGRESSES, { namespace });
  await rm(directory, { recursive: true, force: true });
});

describe('the routes of a router', () => {
  it('follow Ingresses and endpoints', async () => {
    await create(INGRESSES, web({ [`${host('a')}/`]: 'web:http' }));
    const { driver } = await run().ready();
    const upstream = `${namespace}_web_http`;
    expect(driver.hosts()).toEqual([host('a')]);
    expect(driver.endpoints()).toEqual({ [upstream]: ['10.0.0.1:8080'] });
    await update(ENDPOINT_SLICES, slice('web', { '10.0.0.1': {}, '10.0.0.2': {} }));
    await expect.poll(() => driver.endpoints()[upstream]).toEqual(['10.0.0.1:8080', '10.0.0.2:8080']);
    await create(INGRESSES, web({ [`${host('b')}/`]: 'web:http' }, { name: 'b' }));
    await expect.poll(() => driver.hosts()).toEqual([host('a'), host('b')]);
    expect(driver.deltas.slice(1).map(({ hosts }) => hosts.set.length)).toEqual([0, 1]);
    await cluster.client.delete(INGRESSES, { name: 'b', namespace });
    await expect.poll(() => driver.hosts()).toEqual([host('a')]);
  });

  it('come from Ingresses of its class only', async () => {
    await create(INGRESSES, web({ [`${host('a')}/`]: 'web:http' }, { className: 'silver' }));
    const { driver } = await run().ready();
    expect(driver.hosts()).toEqual([]);
  });

  it('are limited to the hosts of its L7Router, whose status reports the served generation', async () => {
    const routerName = `gold-${count}`;
    const of = (hosts: string[]): KubeObject => ({
      apiVersion: 'networking.tidegate.io/v1alpha1',
      kind: 'L7Router',
      metadata: { name: routerName },
      spec: { ingressClassName: 'gold', driver: 'embedded', hosts },
    });
    await create(INGRESSES, web({ [`${host('a')}/`]: 'web:http', [`${host('b')}/`]: 'web:http' }));
    for (const name of ['a', 'b']) await cluster.client.create(HOST_CLAIMS, hostClaim(host(name), namespace));
    const router = run({ router: routerName });
    await expect
      .poll(() => router.ask('/readyz').catch(() => undefined))
      .toEqual({ code: 503, body: `not ready\nL7Router ${routerName} not found` });
    const { metadata } = await cluster.client.create(L7_ROUTERS, of([host('a')]));
    await expect.poll(() => router.driver.hosts()).toEqual([host('a')]);
    const agents = async () => (await cluster.client.get(L7_ROUTERS, { name: routerName })).status?.agents;
    await expect.poll(agents).toMatchObject([{ name: 'agent-1', appliedGeneration: metadata.generation }]);
    await cluster.client.patch(L7_ROUTERS, { name: routerName }, 'merge', {
      spec: { hosts: [host('a'), host('b')] },
    });
    await expect.poll(() => router.driver.hosts()).toEqual([host('a'), host('b')]);
    await expect.poll(agents).toMatchObject([{ name: 'agent-1', appliedGeneration: 2 }]);
    await cluster.client.delete(L7_ROUTERS, { name: routerName });
  });

  it('have what its L7Router says about clients, and the defaults of the class', async () => {
    const routerName = `gold-${count}`;
    const clients = { httpsPort: 8443, trustedProxies: ['10.0.0.0/8'], header: 'X-Forwarded-For' };
    await cluster.client.create(L7_ROUTERS, {
      apiVersion: 'networking.tidegate.io/v1alpha1',
      kind: 'L7Router',
      metadata: { name: routerName },
      spec: {
        ...{ ingressClassName: 'gold', driver: 'embedded', hosts: [host('a')], clients },
        ingressDefaults: { 'proxy-body-size': '8k' },
      },
    } as KubeObject);
    await create(INGRESSES, web({ [`${host('a')}/`]: 'web:http' }));
    await cluster.client.create(HOST_CLAIMS, hostClaim(host('a'), namespace));
    const { driver } = run({ router: routerName });
    const limit = () => driver.table.hosts.get(host('a'))?.routes[0]?.action.limits.maxBodyBytes;
    await expect.poll(limit).toBe(8192);
    expect(clientSettingsOf(driver.table)).toEqual({
      ports: { http: 80, https: 8443 },
      trusted: [{ octets: [10, 0, 0, 0], bits: 8 }],
      header: 'x-forwarded-for',
    });
    await cluster.client.patch(L7_ROUTERS, { name: routerName }, 'merge', {
      spec: { clients: null, ingressDefaults: { 'proxy-body-size': '9k' } },
    });
    await expect.poll(limit).toBe(9216);
    expect(clientSettingsOf(driver.table)).toEqual({ ports: { http: 80, https: 443 } });
    await cluster.client.delete(L7_ROUTERS, { name: routerName });
  });

  it('change with the claims to its hosts, and never without one', async () => {
    const routerName = `gold-${count}`;
    await cluster.client.create(L7_ROUTERS, {
      apiVersion: 'networking.tidegate.io/v1alpha1',
      kind: 'L7Router',
      metadata: { name: routerName },
      spec: { ingressClassName: 'gold', driver: 'embedded' },
    });
    await create(INGRESSES, web({ [`${host('a')}/`]: 'web:http' }));
    const { driver } = await run({ router: routerName }).ready();
    expect(driver.hosts()).toEqual([]);
    const claim = await cluster.client.create(HOST_CLAIMS, hostClaim(host('a'), namespace));
    await expect.poll(() => driver.hosts()).toEqual([host('a')]);
    const target = { name: `${claim.metadata.name}` };
    await cluster.client.patch(HOST_CLAIMS, target, 'merge', { spec: { namespace: 'rival' } });
    await expect.poll(() => driver.hosts()).toEqual([]);
    expect(driver.table.hosts.get(host('a'))).toEqual({ host: host('a'), namespace: 'rival', routes: [] });
    await cluster.client.delete(L7_ROUTERS, { name: routerName });
  });

  it('use only endpoints of its pool', async () => {
    const nodes = { here: `here-${count}`, there: `there-${count}` };
    for (const [place, name] of Object.entries(nodes)) {
      const labels = { 'apps.openyurt.io/nodepool': `${place}-${count}` };
      await cluster.client.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
    }
    const on = (node: string, address: string) => ({ addresses: [address], conditions: {}, nodeName: node });
    const endpoints = [on(nodes.here, '10.0.0.1'), on(nodes.there, '10.0.0.2'), on('', '10.0.0.3')];
    endpoints[2] = { addresses: ['10.0.0.3'], conditions: {} } as never;
    await update(ENDPOINT_SLICES, { ...slice('web', {}), addressType: 'IPv4', endpoints });
    await create(INGRESSES, web({ [`${host('a')}/`]: 'web:http' }));
    const { driver } = await run({ pool: `here-${count}` }).ready();
    const addresses = () => driver.endpoints()[`${namespace}_web_http`];
    expect(addresses()).toEqual(['10.0.0.1:8080']);
    await cluster.client.patch(NODES, { name: nodes.there }, 'merge', {
      metadata: { labels: { 'apps.openyurt.io/nodepool': `here-${count}` } },
    });
    await expect.poll(addresses).toEqual(['10.0.0.1:8080', '10.0.0.2:8080']);
  });

  it('use addresses in place of ExternalNames', async () => {
    await create(SERVICES, {
      ...service('far'),
      spec: { type: 'ExternalName', externalName: 'far.example' },
    });
    await create(INGRESSES, web({ [`${host('a')}/`]: 'far:80' }));
    const resolve = async () => ({ addresses: ['192.0.2.7'], ttlSeconds: 60 });
    const { driver } = await run({ resolve }).ready();
    expect(driver.endpoints()).toEqual({ [`${namespace}_far_80`]: ['192.0.2.7:80'] });
  });
});

describe('certificates', () => {
  const tls = [{ secretName: 'cert' }];
  const shown = (driver: RecordingDriver) => driver.table.certificates.get(host('a'))?.certificate;

  it('change with their Secret, and are removed with it', async () => {
    const [first, second] = [authority.issue([host('a')]), authority.issue([host('a')])];
    await create(
      INGRESSES,
      web({ [`${host('a')}/`]: 'web:http' }, { tls: [{ ...tls[0], hosts: [host('a')] }] }),
    );
    const { driver } = await run().ready();
    expect(shown(driver)).toBeUndefined();
    await create(SECRETS, secret('cert', first));
    await expect.poll(() => shown(driver)).toBe(first.certificate);
    await update(SECRETS, secret('cert', second));
    await expect.poll(() => shown(driver)).toBe(second.certificate);
    await cluster.client.delete(SECRETS, { name: 'cert', namespace });
    await expect.poll(() => shown(driver)).toBeUndefined();
  });

  it('are read by the name of the Secret, as soon as RBAC allows it', async () => {
    const pair = authority.issue([host('a')]);
    await create(SECRETS, secret('cert', pair));
    await create(
      INGRESSES,
      web({ [`${host('a')}/`]: 'web:http' }, { tls: [{ ...tls[0], hosts: [host('a')] }] }),
    );
    const name = `router-${count}`;
    await allowReading(cluster.client, name, [
      SERVICES,
      INGRESSES,
      INGRESS_CLASSES,
      HOST_CLAIMS,
      ROUTE_POLICIES,
      CLUSTER_ROUTE_POLICIES,
      ENDPOINT_SLICES,
    ]);
    const token = await accountToken(cluster.client, name);
    const { server, ca } = cluster.client.config;
    const client = new KubeClient({
      server,
      ca,
      namespace,
      credentials: fixedCredential({ authorization: `Bearer ${token}` }),
    });
    const router = await run({ client }).ready();
    expect(router.driver.hosts()).toEqual([host('a')]);
    expect(shown(router.driver)).toBeUndefined();
    await allowSecret(name);
    await expect.poll(() => shown(router.driver)).toBe(pair.certificate);
    await router.stop();
    await client.close();
  });

  /** Grants access to this Secret only. */
  async function allowSecret(account: string): Promise<void> {
    const apiGroup = 'rbac.authorization.k8s.io';
    const named = { apiVersion: `${apiGroup}/v1`, metadata: { name: account } };
    const rules = [
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['cert'], verbs: ['get', 'list', 'watch'] },
    ];
    const rbac = { group: apiGroup, version: 'v1', namespaced: true };
    await create({ ...rbac, resource: 'roles' }, { ...named, kind: 'Role', rules });
    await create(
      { ...rbac, resource: 'rolebindings' },
      {
        ...named,
        kind: 'RoleBinding',
        roleRef: { apiGroup, kind: 'Role', name: account },
        subjects: [{ kind: 'ServiceAccount', name: account, namespace: 'default' }],
      },
    );
  }
});

describe('headers of a ConfigMap', () => {
  it('change with the ConfigMap and the class, and survive a restart without the API server', async () => {
    const className = `headers-${count}`;
    await cluster.client.create(INGRESS_CLASSES, classWithHeaders('X-A', className));
    const annotations = { 'nginx.ingress.kubernetes.io/custom-headers': 'headers' };
    await create(INGRESSES, web({ [`${host('a')}/`]: 'web:http' }, { annotations, className }));
    const first = await run({ classNames: [className] }).ready();
    const headers = (allowed: string, { driver }: Running = first) =>
      driver.table.credentials.get(`${namespace}/headers#headers=${allowed}`)?.headers;
    await create(CONFIG_MAPS, configMap('headers', { 'X-A': '1' }));
    await expect.poll(() => headers('x-a')).toEqual({ 'X-A': '1' });
    await update(CONFIG_MAPS, configMap('headers', { 'X-A': '2' }));
    await expect.poll(() => headers('x-a')).toEqual({ 'X-A': '2' });
    await cluster.client.patch(INGRESS_CLASSES, { name: className }, 'merge', {
      metadata: classWithHeaders('X-A,X-B', className).metadata,
    });
    await expect.poll(() => headers('x-a,x-b')).toEqual({ 'X-A': '2' });
    await first.stop();
    const nowhere = new KubeClient({
      ...(await loadConfig({ path: cluster.kubeconfig, env: {} })),
      server: 'https://127.0.0.1:1',
    });
    const second = await run({ classNames: [className], client: nowhere }).ready();
    expect(headers('x-a,x-b', second)).toEqual({ 'X-A': '2' });
    await second.stop();
    await nowhere.close();
    const third = await run({ classNames: [className] }).ready();
    // No table of this run was without the headers.
    await expect.poll(() => third.driver.deltas.length).toBeGreaterThan(1);
    expect(third.driver.deltas.flatMap(({ credentials }) => credentials?.remove ?? [])).toEqual([]);
    await cluster.client.delete(CONFIG_MAPS, { name: 'headers', namespace });
    await expect.poll(() => headers('x-a,x-b', third)).toBeUndefined();
  });
});

describe('starting and stopping', () => {
  it('serves the stored table, with private keys and users, while the API server is unreachable', async () => {
    const pair = authority.issue([host('a')]);
    await create(SECRETS, secret('cert', pair));
    const hash = '{SHA}dIdTy8nGNNtl+hZJ2NYzvOB7CZ8=';
    const data = { auth: Buffer.from(`ann:${hash}`).toString('base64') };
    await create(SECRETS, { ...secret('users', pair), type: 'Opaque', data });
    const annotations = {
      'nginx.ingress.kubernetes.io/auth-type': 'basic',
      'nginx.ingress.kubernetes.io/auth-secret': 'users',
    };
    await create(
      INGRESSES,
      web(
        { [`${host('a')}/`]: 'web:http' },
        { tls: [{ secretName: 'cert', hosts: [host('a')] }], annotations },
      ),
    );
    const first = await run().ready();
    await expect
      .poll(() => first.driver.table.credentials.get(`${namespace}/users`)?.users)
      .toEqual({ ann: hash });
    const { table } = first.driver;
    await first.stop();
    const nowhere = new KubeClient({
      ...(await loadConfig({ path: cluster.kubeconfig, env: {} })),
      server: 'https://127.0.0.1:1',
    });
    const second = await run({ client: nowhere }).ready();
    expect(second.driver.deltas).toHaveLength(1);
    for (const part of ['hosts', 'upstreams', 'certificates', 'credentials'] as const)
      expect([...second.driver.table[part].values()]).toEqual([...table[part].values()]);
    await second.stop();
    await nowhere.close();
    const other = run({ classNames: ['silver'], client: cluster.client });
    await other.ready();
    expect(other.driver.hosts()).toEqual([]);
  });

  it('reports health, readiness and metrics, and drains the data plane before it exits', async () => {
    const nowhere = new KubeClient({
      ...(await loadConfig({ path: cluster.kubeconfig, env: {} })),
      server: 'https://127.0.0.1:1',
    });
    const router = run({ client: nowhere });
    await expect.poll(() => router.admin).not.toBe(0);
    expect(await router.ask('/healthz')).toEqual({ code: 200, body: 'ok' });
    expect(await router.ask('/readyz')).toEqual({
      code: 503,
      body: 'not ready\nwaiting for the first sync with the API server',
    });
    expect((await router.ask('/metrics')).body).toMatch(
      /tidegate_router_generation\{router=""\} 0\n(.*\n)*# metrics of the driver/,
    );
    expect((await router.ask('/')).code).toBe(404);
    await router.stop();
    await nowhere.close();
    expect(router.driver.calls).toEqual(['start', 'drain 1000', 'close']);
  });
});
