import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import type { Clock, Logger } from '@tidegate/kube';
import type { KeyPair } from '@tidegate/kube/certificates';
import type { CertificateSource } from '../certificates/index.ts';
import { HubInterface } from './hub-interface.ts';
import {
  Listener,
  listen,
  type NamedEntrance,
  type RequestHandler,
  type UpgradeHandler,
} from './listener.ts';
import { listenOnSocket } from './node-socket.ts';

export interface ListenersOptions {
  /** Where the node's own programs find the hub: http, https and administration. */
  bindAddress: string;
  /** Where pods find it: https only. */
  hubAddress: string;
  port: number;
  securePort: number;
  adminPort: number;
  socket: string;
  /** Until there is one, https connections are refused in the handshake. */
  certificate: Pick<CertificateSource, 'current' | 'onChange'>;
  /** PEM; who signs the certificates of clients. */
  clientCa: string;
  clock: Clock;
  log: Logger;
}

export interface Handlers {
  request: RequestHandler;
  upgrade: UpgradeHandler;
  admin(request: IncomingMessage, response: ServerResponse): void;
}

/** Where the hub can be reached. Ports are what was taken when 0 was asked for. */
export interface Ports {
  http: number;
  /** At the bind address, and at the hub address. */
  https: number;
  hubHttps: number;
  admin: number;
}

const HTTP: NamedEntrance = { name: 'http', node: false };
const HTTPS: NamedEntrance = { name: 'https', node: false };
const SOCKET: NamedEntrance = { name: 'socket', node: true };

/** All that the hub can be reached by. */
export class Listeners {
  ports: Ports = { http: 0, https: 0, hubHttps: 0, admin: 0 };
  readonly #options: ListenersOptions;
  readonly #handlers: Handlers;
  readonly #hubInterface: HubInterface;
  readonly #listeners: Listener[] = [];
  readonly #detach: (() => void)[] = [];

  private constructor(options: ListenersOptions, handlers: Handlers, hubInterface: HubInterface) {
    this.#options = options;
    this.#handlers = handlers;
    this.#hubInterface = hubInterface;
  }

  /** Resolves when all of them listen; when one can not, none does. */
  static async open(options: ListenersOptions, handlers: Handlers): Promise<Listeners> {
    const hubInterface = await HubInterface.open({ address: options.hubAddress, log: options.log });
    const listeners = new Listeners(options, handlers, hubInterface);
    try {
      listeners.ports = await listeners.#openAll();
      return listeners;
    } catch (error) {
      await listeners.close();
      throw error;
    }
  }

  /** Stops to accept at once; requests that are open get five seconds. */
  async close(): Promise<void> {
    for (const detach of this.#detach) detach();
    await Promise.all(this.#listeners.map((listener) => listener.close()));
    await this.#hubInterface.close();
  }

  async #openAll(): Promise<Ports> {
    const { bindAddress, hubAddress, port, securePort, adminPort, socket } = this.#options;
    const http = await this.#onPort(this.#plain(HTTP), port, '--http-port');
    const admin = await this.#onPort(createServer(this.#handlers.admin), adminPort, '--admin-port');
    const https = await this.#onPort(this.#secure(), securePort, '--https-port');
    // A socket on all addresses takes this one with it.
    const separate = hubAddress !== bindAddress && bindAddress !== '0.0.0.0' && bindAddress !== '::';
    const hubHttps = separate
      ? await this.#onPort(this.#secure(), securePort, '--https-port', hubAddress)
      : https;
    await this.#add(this.#plain(SOCKET), (server) => listenOnSocket(server, socket));
    return { http: http.port, https: https.port, hubHttps: hubHttps.port, admin: admin.port };
  }

  #onPort(server: Server, port: number, flag: string, host = this.#options.bindAddress): Promise<Listener> {
    const flags = {
      host: host === this.#options.bindAddress ? '--bind-address' : '--hub-address',
      port: flag,
    };
    return this.#add(server, () => listen(server, { host, port }, flags));
  }

  async #add(server: Server, start: (server: Server) => Promise<void>): Promise<Listener> {
    const listener = new Listener(server, this.#options.clock);
    await start(server);
    this.#listeners.push(listener);
    return listener;
  }

  #plain(entrance: NamedEntrance): Server {
    return serve(createServer(), this.#handlers, entrance);
  }

  /**
   * A certificate is asked of every client and demanded of none: most come with a token. What one that is shown is
   * worth is found out for each request, by whether the handshake verified it.
   */
  #secure(): Server {
    const { certificate, clientCa, log } = this.#options;
    const contextOf = (pair: KeyPair | undefined): SecureContextOptions => ({
      ca: clientCa,
      ...(pair === undefined ? {} : { cert: pair.certificate, key: pair.key }),
    });
    const demands = { requestCert: true, rejectUnauthorized: false };
    const server = createSecureServer({ ...demands, ...contextOf(certificate.current) });
    // Connections that are open go on with what they began with.
    this.#detach.push(certificate.onChange((pair) => server.setSecureContext(contextOf(pair))));
    server.on('tlsClientError', (err) => log.debug({ err }, 'a TLS handshake failed'));
    return serve(server, this.#handlers, HTTPS);
  }
}

function serve(server: Server, { request, upgrade }: Handlers, entrance: NamedEntrance): Server {
  server.on('request', (incoming: IncomingMessage, response: ServerResponse) =>
    request(incoming, response, entrance),
  );
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) =>
    upgrade(incoming, socket, head, entrance),
  );
  return server;
}
