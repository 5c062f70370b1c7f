import type { Driver, DriverOptions, Listening } from '../../../packages/tidegate/src/dataplane/driver.ts';
import type { OctaviaProvisioner, Session } from '../../../packages/tidegate/src/dataplane/octavia/index.ts';
import type { Delta, HostName } from '../../../packages/tidegate/src/ingress/model.ts';
import type {
  FailedHost,
  RouterSnapshot,
} from '../../../packages/tidegate/src/ingress/provisioners/index.ts';
import { reservePort } from '../../support/ports.ts';
import type { OctaviaServer } from './octavia.ts';
import { never, openCloud, provisioner, ready, removed, router, session } from './routers.ts';

let made = 0;

/**
 * A load balancer of Octavia as a data plane, so that the tests of data planes run through what Octavia really does: its
 * API, its database, its configuration of HAProxy, and HAProxy.
 */
export class OctaviaDriver implements Driver {
  /** Hosts that Octavia cannot serve as the last table says. */
  failed: ReadonlyMap<HostName, FailedHost> = new Map();
  readonly #server: OctaviaServer;
  readonly #parameters: Record<string, string>;
  readonly #session: Session;
  readonly #provisioner: OctaviaProvisioner;
  readonly #router = `traffic-${++made}`;
  readonly #table: Maps = { hosts: new Map(), upstreams: new Map(), certificates: new Map() };

  #loadBalancer = '';
  #ports: Listening = { http: 0, https: 0 };

  /** `notFound` is the port of a server that answers 404. */
  constructor(server: OctaviaServer, { defaults }: Pick<DriverOptions, 'defaults'>, notFound: number) {
    this.#server = server;
    this.#session = session(openCloud(server.url));
    this.#provisioner = provisioner(server, this.#session);
    this.#parameters = {
      notFound: `127.0.0.1:${notFound}`,
      connectTimeout: `${defaults.connectTimeoutMs}ms`,
      readTimeout: `${defaults.readTimeoutMs}ms`,
    };
  }

  async start(first?: Delta): Promise<Listening> {
    this.#ports = { http: await reservePort(), https: await reservePort() };
    this.#loadBalancer = `${(await ready(this.#provisioner, this.#object)).loadBalancer?.id}`;
    if (first !== undefined) await this.apply(first);
    return this.#ports;
  }

  async apply(delta: Delta): Promise<void> {
    for (const kind of ['hosts', 'upstreams', 'certificates'] as const)
      change(this.#table[kind], delta, kind);
    const snapshot: RouterSnapshot = {
      ...{ routerGeneration: 1, generation: delta.to, changes: delta },
      ...this.#table,
    };
    this.failed = (await this.#provisioner.reconcile(this.#object, snapshot, never)).failed;
    await this.#server.runHaproxy(this.#loadBalancer, this.#ports);
  }

  health(): { ready: boolean; reasons: string[] } {
    return { ready: true, reasons: [] };
  }

  async metrics(): Promise<string> {
    return '';
  }

  async drain(): Promise<void> {}

  async close(): Promise<void> {
    await removed(this.#provisioner, this.#object);
    await this.#session.close();
  }

  get #object() {
    return router(this.#router, this.#parameters);
  }
}

type Maps = {
  [K in 'hosts' | 'upstreams' | 'certificates']: Map<
    string,
    RouterSnapshot[K] extends ReadonlyMap<string, infer V> ? V : never
  >;
};

function change<K extends keyof Maps>(map: Maps[K], delta: Delta, kind: K): void {
  if (delta.from === 0) map.clear();
  for (const key of delta[kind].remove) map.delete(key);
  for (const value of delta[kind].set) map.set('id' in value ? value.id : value.host, value as never);
}
