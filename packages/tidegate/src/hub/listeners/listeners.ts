import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import type { Clock, Logger } from '@tidegate/kube';
import type { KeyPair } from '@tidegate/kube/certificates';
import type { CertificateSource } from '../certificates/index.ts';
import type { Connections } from './connections.ts';
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
  /** The address for programs on the node: HTTP, HTTPS and admin port. */
  bindAddress: string;
  /** The address for pods: HTTPS only. */
  hubAddress: string;
  httpPort: number;
  httpsPort: number;
  adminPort: number;
  /** Path of the unix socket. Any process that can open it is authenticated as the node. */
  socket: string;
  /** Path of the unix socket with the detailed admin pages. */
  adminSocket: string;
  /** Until there is a certificate, TLS handshakes fail. */
  certificate: Pick<CertificateSource, 'current' | 'onChange'>;
  /** The CA of client certificates, in PEM format. */
  clientCa: string;
  /** Limits the connections to the ports. Only the user of the hub can connect to the unix sockets, without a limit. */
  connections: Pick<Connections, 'add'>;
  clock: Clock;
  log: Logger;
}

/** The functions that answer requests, Upgrade requests, and requests to the admin port. */
export interface Handlers {
  request: RequestHandler;
  upgrade: UpgradeHandler;
  /** For every local user. */
  admin(request: IncomingMessage, response: ServerResponse): void;
  /** For the user of the hub. */
  adminDetails(request: IncomingMessage, response: ServerResponse): void;
}

/** The ports that the hub listens on. If an option is 0, this is the port that the system chose. */
export interface Ports {
  http: number;
  /** The HTTPS ports at the bind address and at the hub address. */
  https: number;
  hubHttps: number;
  admin: number;
}

const HTTP: NamedEntrance = { name: 'http', node: false };
const HTTPS: NamedEntrance = { name: 'https', node: false };
const SOCKET: NamedEntrance = { name: 'socket', node: true };

/** All listeners of the hub. */
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

  /** Resolves when all of them listen. If one of them cannot listen, all are closed. */
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

  /** Stops accepting connections immediately. Open requests get five seconds. */
  async close(): Promise<void> {
    for (const detach of this.#detach) detach();
    await Promise.all(this.#listeners.map((listener) => listener.close()));
    await this.#hubInterface.close();
  }

  async #openAll(): Promise<Ports> {
    const { bindAddress, hubAddress, httpPort, httpsPort, adminPort, socket, adminSocket } = this.#options;
    const http = await this.#onPort(this.#plain(HTTP), httpPort, '--http-port');
    const admin = await this.#onPort(createServer(this.#handlers.admin), adminPort, '--admin-port');
    const https = await this.#onPort(this.#secure(), httpsPort, '--https-port');
    // A listener on all addresses includes the hub address.
    const separate = hubAddress !== bindAddress && bindAddress !== '0.0.0.0' && bindAddress !== '::';
    const hubHttps = separate
      ? await this.#onPort(this.#secure(), httpsPort, '--https-port', hubAddress)
      : https;
    await this.#add(this.#plain(SOCKET), (server) => listenOnSocket(server, socket));
    const details = createServer(this.#handlers.adminDetails);
    await this.#add(details, (server) => listenOnSocket(server, adminSocket));
    return { http: http.port, https: https.port, hubHttps: hubHttps.port, admin: admin.port };
  }

  #onPort(server: Server, port: number, flag: string, host = this.#options.bindAddress): Promise<Listener> {
    const flags = {
      host: host === this.#options.bindAddress ? '--bind-address' : '--hub-address',
      port: flag,
    };
    const { connections } = this.#options;
    return this.#add(
      server,
      () => listen(server, { host, port }, flags),
      (socket) => connections.add(socket),
    );
  }

  async #add(
    server: Server,
    start: (server: Server) => Promise<void>,
    onConnection: (socket: Socket) => void = () => {},
  ): Promise<Listener> {
    const listener = new Listener(server, this.#options.clock, onConnection);
    await start(server);
    this.#listeners.push(listener);
    return listener;
  }

  #plain(entrance: NamedEntrance): Server {
    return serve(createServer(), this.#handlers, entrance);
  }

  /**
   * The server requests a client certificate but does not require one, because most clients use a token. An
   * invalid certificate does not fail the handshake: the authenticator checks for each request whether the
   * handshake verified the certificate, and answers with 401 as the API server does.
   */
  #secure(): Server {
    const { certificate, clientCa, log } = this.#options;
    const contextOf = (pair: KeyPair | undefined): SecureContextOptions => ({
      ca: clientCa,
      ...(pair === undefined ? {} : { cert: pair.certificate, key: pair.key }),
    });
    const demands = { requestCert: true, rejectUnauthorized: false };
    const server = createSecureServer({ ...demands, ...contextOf(certificate.current) });
    // A new certificate applies to new connections. Open connections, for example watches, are not
    // interrupted.
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
