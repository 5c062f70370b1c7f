/**
 * deploy/base/hub.yaml and hub.service as a user applies them: they grant exactly the permissions that hubs need.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Applier,
  apiVersionOf,
  type ClusterConfig,
  KubeClient,
  type KubeObject,
  type Logger,
  loadConfig,
  type Resource,
  silentLogger,
} from '@tidegate/kube';
import { Client } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { NODE_POOLS } from '../../packages/tidegate/src/api/index.ts';
import { hubCommand } from '../../packages/tidegate/src/cli/hub.ts';
import { startHub } from '../../packages/tidegate/src/hub/index.ts';
import { nodeCredentials } from '../../packages/tidegate/src/supervisor/credentials.ts';
import { eventually } from '../support/cluster.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from '../support/embedded.ts';
import { reservePort } from '../support/ports.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy');
const REVIEWS: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'selfsubjectaccessreviews',
  namespaced: false,
};

interface Rule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}
type Role = KubeObject & { rules?: Rule[] };

/** Resources that the hub reads for clients, with the path that the node would request. */
const READ_BY_HUBS: Record<string, string> = {
  endpoints: '/api/v1/endpoints',
  endpointslices: '/apis/discovery.k8s.io/v1/endpointslices',
  ingresses: '/apis/networking.k8s.io/v1/ingresses',
  ingressclasses: '/apis/networking.k8s.io/v1/ingressclasses',
  nodepools: '/apis/apps.openyurt.io/v1beta2/nodepools',
  nodegroups: '/apis/apps.kubeedge.io/v1alpha1/nodegroups',
};
/** What the hub reads for itself, with the error in its log if the permission is missing. */
const READ_FOR_ITSELF: Record<string, RegExp> = {
  '/openid/v1/jwks': /cannot get path "\/openid\/v1\/jwks"/,
  '/.well-known/openid-configuration': /cannot get path "\/\.well-known\/openid-configuration"/,
  configmaps: /cannot (list|watch) resource "configmaps"/,
  nodes: /cannot get resource "nodes"/,
};

describe('the permissions of a hub', () => {
  let server: EmbeddedWithKinds;
  let directory: string;
  let config: ClusterConfig;
  let node: KubeClient;
  let objects: Role[];
  let hubs = 0;

  beforeAll(async () => {
    server = await startEmbeddedWithKinds();
    directory = await mkdtemp(join(tmpdir(), 'tidegate-hub-'));
    const { hub } = await nodeCredentials({
      client: server.client,
      node: 'shop-1',
      directory,
      server: server.url,
      hub: 'https://127.0.0.1:10268',
      proxyTokenFile: join(directory, 'token'),
      signal: new AbortController().signal,
    });
    config = await loadConfig({ path: hub, env: {} });
    node = new KubeClient(config);
    const documents = parseAllDocuments(await readFile(join(DEPLOY, 'base/hub.yaml'), 'utf8'));
    objects = documents.map((document) => document.toJS() as Role);
    // A hub looks for the other nodes of its pool.
    const pool = { apiVersion: apiVersionOf(NODE_POOLS.group, NODE_POOLS.version), kind: 'NodePool' };
    await server.client.create(NODE_POOLS, { ...pool, metadata: { name: 'site' }, spec: { type: 'Edge' } });
    const target = { name: 'site', subresource: 'status' };
    await server.client.patch(NODE_POOLS, target, 'merge', { status: { nodes: ['shop-1', 'shop-2'] } });
  });
  afterAll(async () => {
    await node.close();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });

  /** Applies all of it, except for the permission for one resource or path. */
  async function apply(but?: string): Promise<void> {
    const applier = new Applier(server.client, 'test');
    for (const object of objects)
      await applier.apply(object.rules === undefined ? object : without(object, but));
  }

  async function mayI(spec: object): Promise<boolean> {
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      metadata: {},
      spec,
    };
    const { status } = await node.create<KubeObject>(REVIEWS, review);
    return (status as { allowed: boolean }).allowed;
  }

  /**
   * Runs a new hub. `work` can send requests as the node. Returns the permissions that the hub was denied.
   */
  async function withHub(work: (ask: (path: string) => Promise<number>, refused: string[]) => Promise<void>) {
    const refused: string[] = [];
    const socket = join(directory, `${++hubs}.sock`);
    const hub = await startHub({
      nodeName: 'shop-1',
      servers: [server.url],
      config,
      clientCa: config.ca ?? '',
      lbMode: 'rr',
      stateDirectory: join(directory, `hub-${hubs}`),
      hubAddress: '127.0.0.1',
      bindAddress: '127.0.0.1',
      httpPort: 0,
      httpsPort: 0,
      adminPort: 0,
      groupPort: await reservePort(),
      socket,
      disabledFilters: [],
      version: 'test',
      log: collecting(refused),
    });
    const client = new Client('http://hub', { socketPath: socket });
    try {
      await work(async (path) => {
        const { statusCode, body } = await client.request({ method: 'GET', path });
        await body.dump();
        return statusCode;
      }, refused);
    } finally {
      await client.close();
      await hub.close();
    }
    return refused;
  }

  it('do not include any that a node has already', async () => {
    const rights = objects.flatMap(rightsOf);
    expect(rights).toHaveLength(17);
    for (const right of rights) expect([right, await mayI(right)]).toEqual([right, false]);
  });

  it('are sufficient', async () => {
    await apply();
    const refused = await withHub(async (ask) => {
      for (const path of Object.values(READ_BY_HUBS)) expect([path, await ask(path)]).toEqual([path, 200]);
      expect(await ask('/api/v1/services')).toBe(200);
      expect(await ask('/api/v1/namespaces/kube-system/configmaps')).toBe(403);
    });
    expect(refused).toEqual([]);
  });

  it.each(Object.entries(READ_BY_HUBS))('are all necessary: %s', async (resource, path) => {
    await apply(resource);
    await withHub(async (ask) => {
      expect(await ask(path)).toBe(403);
    });
  });

  it.each(Object.entries(READ_FOR_ITSELF))('are all necessary: %s', async (what, words) => {
    await apply(what);
    await withHub(async (_, refused) => {
      await eventually(`${what} is denied`, () => refused.find((message) => words.test(message)));
    });
  });
});

/** Each verb of each rule separately, as an access review requests it. */
function rightsOf({ metadata, rules = [] }: Role): object[] {
  const { namespace } = metadata;
  return rules.flatMap(({ verbs, apiGroups = [], resources = [], resourceNames, nonResourceURLs = [] }) =>
    verbs.flatMap((verb): object[] => [
      ...nonResourceURLs.map((path) => ({ nonResourceAttributes: { verb, path } })),
      ...apiGroups.flatMap((group) =>
        resources.map((resource) => ({
          resourceAttributes: { verb, group, resource, namespace, name: resourceNames?.[0] },
        })),
      ),
    ]),
  );
}

function without({ rules = [], ...role }: Role, but: string | undefined): Role {
  const rest = (names: string[]): string[] => names.filter((name) => name !== but);
  return {
    ...role,
    rules: rules
      .map((rule) => ({
        ...rule,
        ...(rule.resources === undefined ? {} : { resources: rest(rule.resources) }),
        ...(rule.nonResourceURLs === undefined ? {} : { nonResourceURLs: rest(rule.nonResourceURLs) }),
      }))
      .filter(({ resources = [], nonResourceURLs = [] }) => resources.length + nonResourceURLs.length > 0),
  };
}

/** Collects the log messages about forbidden requests. */
function collecting(refused: string[]): Logger {
  const collect = (fields: object): void => {
    const { err } = fields as { err?: { code?: number; message?: string } };
    if (err?.code === 403) refused.push(err.message ?? '');
  };
  return {
    ...silentLogger,
    warn: collect,
    error: collect,
    info: collect,
    debug: collect,
    child: () => collecting(refused),
  };
}

it('hub.service uses only options that the command has', async () => {
  const unit = await readFile(join(DEPLOY, 'hub.service'), 'utf8');
  const [, command = ''] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
  const known = new Set(hubCommand().options.map(({ long }) => long));
  const used = command.split(' ').filter((word) => word.startsWith('--'));
  expect(used).toEqual(['--node-name', '--kubeconfig', '--state']);
  expect(used.filter((option) => !known.has(option))).toEqual([]);
});
