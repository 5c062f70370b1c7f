/** A cluster with one node behind a link that can be cut: an embedded API server, a relay, and the hub of the node. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Clock,
  type ClusterConfig,
  type Credential,
  fixedCredential,
  KubeClient,
  type Logger,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { type Hub, type HubOptions, startHub } from '../../packages/tidegate/src/hub/index.ts';
import { HEALTH_TIMINGS } from '../../packages/tidegate/src/hub/upstream/index.ts';
import { installRbac } from '../../packages/tidegate/src/supervisor/install.ts';
import { Relay } from '../../packages/tidegate/src/supervisor/relay.ts';
import { ServingApprover } from '../../packages/tidegate/src/supervisor/serving-approver.ts';
import { accountToken, allowReading, clientCertificate } from './accounts.ts';
import { type EmbeddedWithKinds, startEmbeddedWithKinds } from './embedded.ts';
import { Front } from './front.ts';
import { reservePort } from './ports.ts';
import type { Way } from './wire.ts';

export const NODE = 'edge-1';
/** The address at which pods reach the hub; all of 127.0.0.0/8 is local. */
export const HUB_ADDRESS = '127.0.0.2';
const HUB_MANIFESTS = join(import.meta.dirname, '../../deploy/base/hub.yaml');

export interface EdgeOptions {
  disabledFilters?: string[];
  log?: Logger;
  /** Whether to put a front before the API server that can give false responses. */
  front?: boolean;
  clock?: Clock;
  /** Smaller than usual, so that a test can reach them. */
  connectionLimits?: HubOptions['connectionLimits'];
  /** Where the hub keeps its state, for example on a small disk. */
  state?: string;
}

/** Short timeouts, so that what takes a minute or more is over in a moment. */
export const hastyClock: Clock = {
  ...systemClock,
  after: (ms, fire) => systemClock.after(ms < 60_000 ? ms : ms / 100, fire),
};

interface Parts {
  server: EmbeddedWithKinds;
  directory: string;
  relay: Relay;
  front: Front | undefined;
  credential: Credential;
  ports: { http: number; https: number; admin: number };
}

export class Edge {
  readonly server: EmbeddedWithKinds;
  /** The administrator's client, which bypasses the hub. */
  readonly admin: KubeClient;
  readonly directory: string;
  /** The state directory of the hub. */
  readonly state: string;
  readonly ports: Parts['ports'];
  /** The node's certificate. */
  readonly credential: Credential;
  readonly #options: EdgeOptions;
  readonly #relay: Relay;
  readonly #front: Front | undefined;
  readonly #approver: ServingApprover;
  readonly #clients: KubeClient[] = [];
  hub!: Hub;

  private constructor({ server, directory, relay, front, credential, ports }: Parts, options: EdgeOptions) {
    this.server = server;
    this.admin = server.client;
    this.directory = directory;
    this.state = options.state ?? join(directory, 'hub');
    this.ports = ports;
    this.credential = credential;
    this.#relay = relay;
    this.#front = front;
    this.#options = options;
    this.#approver = new ServingApprover(server.client, [{ name: NODE, address: HUB_ADDRESS }], () => {});
  }

  static async start(options: EdgeOptions = {}): Promise<Edge> {
    const server = await startEmbeddedWithKinds();
    await installRbac(server.client, HUB_MANIFESTS, new AbortController().signal);
    const directory = await mkdtemp(join(tmpdir(), 'tidegate-edge-'));
    const credential = await clientCertificate(server.client, `system:node:${NODE}`);
    const front = options.front
      ? new Front(server.url, server.client.config.ca ?? '', credential)
      : undefined;
    const port = (await front?.listen()) ?? Number(new URL(server.url).port);
    const relay = new Relay({ host: '127.0.0.1', port: await reservePort() }, { host: '127.0.0.1', port });
    await relay.open();
    const ports = { http: await reservePort(), https: await reservePort(), admin: await reservePort() };
    const edge = new Edge({ server, directory, relay, front, credential, ports }, options);
    await edge.#approver.run();
    await edge.startHub();
    return edge;
  }

  /** The front before the API server. */
  get front(): Front {
    if (this.#front === undefined) throw new Error('this edge was started without a front');
    return this.#front;
  }

  async startHub(): Promise<void> {
    const scheme = this.#front === undefined ? 'https' : 'http';
    const url = `${scheme}://127.0.0.1:${this.#relay.listen.port}`;
    const config = { ...this.admin.config, server: url, credentials: fixedCredential(this.credential) };
    this.hub = await startHub({
      nodeName: NODE,
      servers: [url],
      config,
      lbMode: 'rr',
      healthTimings: { ...HEALTH_TIMINGS, downIntervalMs: 100 },
      stateDirectory: this.state,
      hubAddress: HUB_ADDRESS,
      bindAddress: '127.0.0.1',
      httpPort: this.ports.http,
      httpsPort: this.ports.https,
      adminPort: this.ports.admin,
      socket: join(this.state, 'hub.sock'),
      disabledFilters: this.#options.disabledFilters ?? [],
      clientCa: config.ca ?? '',
      connectionLimits: this.#options.connectionLimits,
      version: 'test',
      log: this.#options.log ?? silentLogger,
      clock: this.#options.clock ?? systemClock,
    });
    await this.hub.ready;
  }

  /** Stops the hub; its state stays on disk. */
  async restartHub(): Promise<void> {
    await this.hub.close();
    await this.startHub();
  }

  /** Kills the hub now: it restarts from what is on disk at this moment. */
  async killHub(): Promise<void> {
    const snapshot = join(this.directory, 'snapshot');
    await cp(this.state, snapshot, { recursive: true, filter: (file) => !/\.sock$|lock/.test(file) });
    await this.hub.close();
    await rm(this.state, { recursive: true });
    await cp(snapshot, this.state, { recursive: true });
    await rm(snapshot, { recursive: true });
    await this.startHub();
  }

  cut(): Promise<void> {
    return this.#relay.cut();
  }

  mend(): Promise<void> {
    return this.#relay.open();
  }

  /** The listeners of the hub. */
  get http(): Way {
    return { host: '127.0.0.1', port: this.ports.http };
  }

  get https(): Way {
    return { host: '127.0.0.1', port: this.ports.https, ca: this.admin.config.ca ?? '' };
  }

  /** The address that pods use. */
  get hubHttps(): Way {
    return { ...this.https, host: HUB_ADDRESS };
  }

  get socket(): Way {
    return { socketPath: join(this.state, 'hub.sock') };
  }

  get administration(): Way {
    return { host: '127.0.0.1', port: this.ports.admin };
  }

  /** The admin pages with details. */
  get adminSocket(): Way {
    return { socketPath: join(this.state, 'hub-admin.sock') };
  }

  /** Authenticated as the node, with its certificate. */
  get asNode(): Way {
    const { cert = '', key = '' } = this.credential;
    return { ...this.https, cert, key };
  }

  asBearer(token: string, program = 'app'): Way {
    return {
      ...this.http,
      headers: { authorization: `Bearer ${token}`, 'user-agent': `${program}/v1.36.4` },
    };
  }

  /** Authenticated as the node, with its certificate. */
  node(program = 'kubelet'): KubeClient {
    return this.#through('https', this.ports.https, this.credential, program);
  }

  /** Authenticated with this token. */
  bearer(token: string, program = 'app'): KubeClient {
    return this.#through('http', this.ports.http, { authorization: `Bearer ${token}` }, program);
  }

  anybody(program = 'curl'): KubeClient {
    return this.#through('http', this.ports.http, {}, program);
  }

  /** A token of a service account, which is created if it does not exist. */
  token(name: string, namespace = 'default'): Promise<string> {
    return accountToken(this.admin, name, namespace);
  }

  /** Lets an account read everything. */
  allowReading(
    name: string,
    resources: { group: string; resource: string }[],
    namespace = 'default',
  ): Promise<void> {
    return allowReading(this.admin, name, resources, namespace);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
    await this.hub.close();
    await this.#approver.close();
    await this.#relay.cut();
    await this.#front?.close();
    await this.server.stop();
    await rm(this.directory, { recursive: true, force: true });
  }

  #through(scheme: string, port: number, credential: Credential, program: string): KubeClient {
    const config: ClusterConfig = {
      ...this.admin.config,
      server: `${scheme}://127.0.0.1:${port}`,
      credentials: fixedCredential(credential),
    };
    const client = new KubeClient(config, { userAgent: `${program}/v1.36.4`, maxRetries: 0 });
    this.#clients.push(client);
    return client;
  }
}
