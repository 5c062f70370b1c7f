import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as realSleep } from 'node:timers/promises';
import { DurableMap } from '@tidegate/disk';
import {
  fixedCredential,
  KubeClient,
  type Logger,
  Metrics,
  type Resource,
  silentLogger,
} from '@tidegate/kube';
import { FakeServer, SwitchedConnection, VirtualClock, WIDGETS } from '@tidegate/kube/testing';
import type { ViewKey } from '../view.ts';
import { Views, type ViewsOptions } from '../views.ts';

export const keyOfView = (identity: string, fields: Partial<ViewKey> = {}): ViewKey => ({
  identity,
  resource: WIDGETS as Resource,
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
  ...fields,
});

export const bearer = (token: string) => fixedCredential({ authorization: `Bearer ${token}` });

/** Views with a fake API server, a real disk, a link that a test can cut, and virtual time. `restart` reopens them. */
export class ViewsRig {
  readonly server = new FakeServer();
  readonly clock = new VirtualClock();
  readonly upstream = new SwitchedConnection();
  readonly options: Partial<ViewsOptions>;
  metrics = new Metrics();
  openClients = 0;
  /** The fields of every message that was logged as an error. */
  readonly reported: object[] = [];
  views!: Views;
  #directory!: string;
  #map!: DurableMap;
  #node!: KubeClient;
  readonly #log: Logger = {
    ...silentLogger,
    error: (fields) => this.reported.push(fields),
    child: () => this.#log,
  };

  constructor(options: Partial<ViewsOptions> = {}) {
    this.options = options;
  }

  async start(): Promise<this> {
    this.#directory = await mkdtemp(join(tmpdir(), 'tidegate-views-'));
    this.#node = new KubeClient(await this.server.start(), { maxRetries: 0 });
    await this.#open();
    return this;
  }

  async restart(): Promise<void> {
    await this.#shut();
    await this.#open();
  }

  async end(): Promise<void> {
    await this.#shut();
    await this.#node.close();
    await this.server.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #open(): Promise<void> {
    this.#map = await DurableMap.open(join(this.#directory, 'views'));
    this.metrics = new Metrics();
    this.views = await Views.open({
      map: this.#map,
      node: this.#node,
      nodeName: 'edge',
      client: (credentials) => this.#client(credentials),
      holderOf: (identity) => ({ identity, tenant: identity.split(':')[1] ?? identity }),
      upstream: this.upstream,
      clock: this.clock,
      random: () => 0.5,
      log: this.#log,
      metrics: this.metrics,
      ...this.options,
    });
  }

  async #shut(): Promise<void> {
    await this.views.close();
    await this.#map.close();
  }

  #client(credentials: KubeClient['config']['credentials']): KubeClient {
    const client = new KubeClient({ ...this.#node.config, credentials }, { maxRetries: 0 });
    this.openClients++;
    const close = client.close.bind(client);
    client.close = async () => {
      this.openClients--;
      await close();
    };
    return client;
  }

  /** Waits for a condition. Virtual time advances by `stepMs` in each step, while the sockets work in real time. */
  async until(condition: () => boolean | Promise<boolean>, stepMs = 0): Promise<void> {
    for (let i = 0; !(await condition()); i++) {
      if (i === 100_000) throw new Error('the condition was not met in 100,000 steps');
      await realSleep(1);
      await this.clock.advance(stepMs);
    }
  }
}
