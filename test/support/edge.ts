/** A cluster with one node behind a link that can be cut: an embedded API server, a relay, and the hub of the node. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Hub, startHub } from '../../src/hub/index.ts';
import {
  type ClusterConfig,
  type CredentialSource,
  fixedCredential,
  KubeClient,
  newSigningRequest,
  requestCertificate,
  SERVICE_ACCOUNTS,
  silentLogger,
} from '../../src/kube/index.ts';
import { installRights } from '../../src/local/supervisor/install.ts';
import { freePort } from '../../src/local/supervisor/links.ts';
import { Relay } from '../../src/local/supervisor/relay.ts';
import { ServingApprover } from '../../src/local/supervisor/serving-approver.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from './embedded.ts';

export const NODE = 'edge-1';
const HUB_MANIFESTS = join(import.meta.dirname, '../../deploy/hub.yaml');

export interface EdgeOptions {
  disabledFilters?: string[];
}

export class Edge {
  readonly server: EmbeddedWithKinds;
  /** The administrator, past the hub. */
  readonly admin: KubeClient;
  readonly directory: string;
  readonly #options: EdgeOptions;
  readonly #relay: Relay;
  readonly #credentials: CredentialSource;
  readonly #approver: ServingApprover;
  readonly #clients: KubeClient[] = [];
  hub!: Hub;

  private constructor(
    server: EmbeddedWithKinds,
    directory: string,
    relay: Relay,
    credentials: CredentialSource,
    options: EdgeOptions,
  ) {
    this.server = server;
    this.admin = server.client;
    this.directory = directory;
    this.#relay = relay;
    this.#credentials = credentials;
    this.#options = options;
    this.#approver = new ServingApprover(server.client, [{ name: NODE, address: '127.0.0.1' }], () => {});
  }

  static async start(options: EdgeOptions = {}): Promise<Edge> {
    const server = await startEmbeddedWithKinds();
    const { signal } = new AbortController();
    await installRights(server.client, HUB_MANIFESTS, signal);
    const directory = await mkdtemp(join(tmpdir(), 'tidegate-edge-'));
    const port = Number(new URL(server.url).port);
    const relay = new Relay({ host: '127.0.0.1', port: await freePort(0) }, { host: '127.0.0.1', port });
    await relay.open();
    const edge = new Edge(server, directory, relay, await nodeCredentials(server.client), options);
    edge.#approver.run();
    await edge.startHub();
    return edge;
  }

  async startHub(): Promise<void> {
    const url = `https://127.0.0.1:${this.#relay.listen.port}`;
    const config = { ...this.admin.config, server: url, credentials: this.#credentials };
    this.hub = await startHub({
      nodeName: NODE,
      servers: [url],
      config,
      lbMode: 'rr',
      stateDirectory: join(this.directory, 'hub'),
      hubAddress: '127.0.0.1',
      bindAddress: '127.0.0.1',
      port: 0,
      securePort: 0,
      adminPort: 0,
      socket: join(this.directory, 'hub', 'hub.sock'),
      disabledFilters: this.#options.disabledFilters ?? [],
      clientCa: config.ca ?? '',
      version: 'test',
      logger: silentLogger,
    });
    await this.hub.ready;
  }

  /** What the hub knows stays on its disk. */
  async restartHub(): Promise<void> {
    await this.hub.close();
    await this.startHub();
  }

  cut(): Promise<void> {
    return this.#relay.cut();
  }

  mend(): Promise<void> {
    return this.#relay.open();
  }

  /** The node itself, by its certificate. */
  node(program = 'kubelet'): KubeClient {
    return this.#through('https', this.hub.ports.https, this.#credentials, program);
  }

  /** Whoever has this token. */
  bearer(token: string, program = 'app'): KubeClient {
    return this.#through(
      'http',
      this.hub.ports.http,
      fixedCredential({ authorization: `Bearer ${token}` }),
      program,
    );
  }

  anybody(program = 'curl'): KubeClient {
    return this.#through('http', this.hub.ports.http, fixedCredential({}), program);
  }

  /** A token of a service account, made when it is not there. */
  async token(name: string, namespace = 'default'): Promise<string> {
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } };
    await this.admin.create(SERVICE_ACCOUNTS, account).catch((error) => {
      if (error.reason !== 'AlreadyExists') throw error;
    });
    const request = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: { name, namespace },
      spec: { expirationSeconds: 3600 },
    };
    const answer = await this.admin.create(SERVICE_ACCOUNTS, request, { subresource: 'token' });
    return (answer as unknown as { status: { token: string } }).status.token;
  }

  /** Lets an account read everything. */
  async allowReading(
    name: string,
    resources: { group: string; resource: string }[],
    namespace = 'default',
  ): Promise<void> {
    const rules = resources.map(({ group, resource }) => ({
      apiGroups: [group],
      resources: [resource],
      verbs: ['get', 'list', 'watch'],
    }));
    const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: false };
    const apiVersion = 'rbac.authorization.k8s.io/v1';
    await this.admin.create(
      { ...rbac, resource: 'clusterroles' },
      { apiVersion, kind: 'ClusterRole', metadata: { name: `test-${name}` }, rules },
    );
    await this.admin.create(
      { ...rbac, resource: 'clusterrolebindings' },
      {
        apiVersion,
        kind: 'ClusterRoleBinding',
        metadata: { name: `test-${name}` },
        roleRef: { apiGroup: rbac.group, kind: 'ClusterRole', name: `test-${name}` },
        subjects: [{ kind: 'ServiceAccount', name, namespace }],
      },
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
    await this.hub.close();
    await this.#approver.close();
    await this.#relay.cut();
    await this.server.stop();
    await rm(this.directory, { recursive: true, force: true });
  }

  #through(scheme: string, port: number, credentials: CredentialSource, program: string): KubeClient {
    const config: ClusterConfig = {
      ...this.admin.config,
      server: `${scheme}://127.0.0.1:${port}`,
      credentials,
    };
    const client = new KubeClient(config, { userAgent: `${program}/v1.36.4`, maxRetries: 0 });
    this.#clients.push(client);
    return client;
  }
}

async function nodeCredentials(client: KubeClient): Promise<CredentialSource> {
  const { key, request } = newSigningRequest({
    commonName: `system:node:${NODE}`,
    organizations: ['system:nodes'],
  });
  const cert = await requestCertificate(client, {
    namePrefix: `${NODE}-`,
    request,
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    usages: ['digital signature', 'client auth'],
    approve: true,
    signal: new AbortController().signal,
  });
  return fixedCredential({ cert, key });
}
