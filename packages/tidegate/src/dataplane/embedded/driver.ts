import type { Logger } from '@tidegate/kube';
import type { KeyPair } from '@tidegate/kube/certificates';
import {
  applyDelta,
  DeltaGapError,
  EMPTY_TABLE,
  handshakeFor,
  type RouteTable,
  requestHost,
} from '../../ingress/match/index.ts';
import type { Delta } from '../../ingress/model.ts';
import { defaultCertificate } from '../default-certificate.ts';
import { type Driver, type DriverOptions, type Listening, NeedsFullState } from '../driver.ts';
import { newMark } from '../loops.ts';
import { AccessLog } from './access-log.ts';
import { Authenticator } from './authenticate.ts';
import { ExternalAuthenticator } from './external-auth.ts';
import { Handler } from './handler.ts';
import { Listeners } from './listeners.ts';
import { Mirrors } from './mirrors.ts';
import { SecureContexts } from './secure-contexts.ts';
import { Traffic } from './traffic.ts';
import { Upstreams } from './upstreams.ts';

export interface EmbeddedOptions extends DriverOptions {
  /** The file for the access log. Default: no access log. */
  accessLog?: string;
}

interface Dependencies {
  log: Logger;
  random?: () => number;
  /** The metrics and the access log of several drivers in one process. Their owner closes the log. */
  traffic?: Traffic;
  /** That of several drivers in one process: they share its limits. */
  authenticator?: Authenticator;
}

/** The data plane in the agent's own process. */
export class EmbeddedDriver implements Driver {
  readonly #options: EmbeddedOptions;
  readonly #log: Logger;
  readonly #upstreams: Upstreams;
  readonly #contexts: SecureContexts;
  readonly #accessLog: AccessLog | undefined;
  readonly #traffic: Traffic;
  readonly #externalAuth: ExternalAuthenticator;
  readonly #mirrors: Mirrors;
  readonly #handler: Handler;
  #table: RouteTable = EMPTY_TABLE;
  #listeners: Listeners | undefined;
  #ownCertificate: KeyPair | undefined;
  /** The certificate for clients that send no server name: Node.js does not call SNICallback for them. */
  #shown: KeyPair | undefined;
  #state: 'new' | 'listening' | 'draining' | 'closed' = 'new';

  constructor(options: EmbeddedOptions, { log, random = Math.random, traffic, authenticator }: Dependencies) {
    this.#options = options;
    this.#log = log;
    this.#upstreams = new Upstreams(
      random,
      (error) => log.warn({ err: error }, 'failed to close the connections of an endpoint'),
      (id) => (id === undefined ? undefined : this.#table.credentials.get(id)?.client),
    );
    this.#contexts = new SecureContexts(log);
    const { accessLog } = options;
    this.#accessLog =
      accessLog === undefined || traffic !== undefined ? undefined : new AccessLog(accessLog, log);
    this.#traffic =
      traffic ?? new Traffic({ className: options.className, router: options.router ?? '' }, this.#accessLog);
    const servers = { defaults: options.defaults, mark: newMark(), log };
    this.#externalAuth = new ExternalAuthenticator(this.#upstreams, servers);
    this.#mirrors = new Mirrors(this.#upstreams, servers);
    this.#handler = new Handler(() => this.#table, this.#upstreams, {
      options,
      traffic: this.#traffic,
      authenticator: authenticator ?? new Authenticator(),
      externalAuth: this.#externalAuth,
      mirrors: this.#mirrors,
      log,
    });
  }

  async start(first?: Delta): Promise<Listening> {
    if (first !== undefined) await this.apply(first);
    this.#ownCertificate = defaultCertificate(this.#options.directory);
    this.#listeners = new Listeners({
      ...this.#options,
      defaultCertificate: this.#ownCertificate,
      contextFor: (name) => this.#contexts.find(this.#table, name),
      handshakeFor: (name) => handshakeFor(this.#table, requestHost(name) ?? ''),
      asksFor: (name) => this.#contexts.asking(this.#table, name, this.#ownCertificate!),
      handle: (exchange) => this.#handler.handle(exchange),
    });
    this.#showDefault();
    const listening = await this.#listeners.listen();
    this.#state = 'listening';
    return listening;
  }

  async apply(delta: Delta): Promise<void> {
    try {
      this.#table = applyDelta(this.#table, delta);
    } catch (error) {
      if (error instanceof DeltaGapError) throw new NeedsFullState(error.message, { cause: error });
      throw error;
    }
    // Synchronous, like the line above: no request can see the new table with the old upstreams.
    this.#upstreams.update(delta);
    this.#externalAuth.forget(delta.upstreams.remove);
    this.#showDefault();
  }

  health(): { ready: boolean; reasons: string[] } {
    const reasons: string[] = [];
    if (this.#state !== 'listening') reasons.push(`the data plane is ${this.#state}`);
    if (this.#table.generation === 0) reasons.push('no routes have been received yet');
    return { ready: reasons.length === 0, reasons };
  }

  metrics(): Promise<string> {
    return this.#traffic.scrape();
  }

  async drain(ms: number): Promise<void> {
    this.#state = 'draining';
    await this.#listeners?.drain(ms);
  }

  async close(): Promise<void> {
    this.#state = 'closed';
    await this.#listeners?.close();
    this.#externalAuth.close();
    this.#mirrors.close();
    await this.#upstreams.destroy();
    await this.#accessLog?.close();
  }

  /** Sets the certificate for clients without a server name: the default of the table, or else the own one. */
  #showDefault(): void {
    const wanted = this.#table.certificates.get('') ?? this.#ownCertificate;
    if (wanted === undefined || wanted === this.#shown) return;
    this.#shown = wanted;
    try {
      this.#listeners?.setDefault(wanted);
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot use the default certificate of the class; using the own one');
      if (this.#ownCertificate !== undefined) this.#listeners?.setDefault(this.#ownCertificate);
    }
  }
}
