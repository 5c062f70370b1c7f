import { constants } from 'node:crypto';
import type { Http2SecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import {
  createSecureContext,
  createServer,
  type SecureContext,
  type Server,
  type TLSSocket,
  type TlsOptions,
} from 'node:tls';
import type { KeyPair } from '@tidegate/kube/certificates';
import type { Handshake } from '../../ingress/policy/index.ts';
import { cipherList } from '../endpoint-tls.ts';
import { CLIENT_HEADERS_MS } from '../limits.ts';
import { noteClient, type TlsClient } from './client-certificates.ts';
import { ClientHelloReader } from './client-hello.ts';

/**
 * Gives each TLS client exactly one certificate. Node.js adds the certificate that SNICallback returns to the one of the
 * server, if their keys have different types; clients then choose the one of the server when it has an ECDSA key and the
 * host has RSA. So the server has no certificate of its own, and clients without a server name, for which Node.js does not
 * call SNICallback, do their handshake with another server.
 */
export class Handshakes {
  readonly #unnamed: Server;
  /** By their settings, which Node.js has for a whole server: whether clients are asked for certificates, and the ciphers. */
  readonly #special = new Map<string, Server>();
  readonly #options: HandshakeOptions;
  /** What each connection in its handshake is asked for. */
  readonly #asked = new WeakMap<object, Asked>();
  #default: SecureContext;
  #server: Http2SecureServer | undefined;

  constructor(certificate: KeyPair, options: HandshakeOptions) {
    this.#options = options;
    this.#default = contextOf(certificate);
    this.#unnamed = createServer({
      cert: certificate.certificate,
      key: certificate.key,
      ALPNProtocols: ['h2', 'http/1.1'],
    });
  }

  /** The certificate for clients without a server name, and for names without a certificate. */
  get default(): SecureContext {
    return this.#default;
  }

  /** Throws if the certificate cannot be read, and changes nothing then. */
  setDefault(certificate: KeyPair): void {
    this.#default = contextOf(certificate);
    this.#unnamed.setSecureContext({ cert: certificate.certificate, key: certificate.key });
  }

  /** Takes over the connections of a server whose certificates come from SNICallback. */
  attach(server: Http2SecureServer): void {
    const [handshake, ...others] = server.listeners('connection') as ((socket: Socket) => void)[];
    if (handshake === undefined) throw new Error('the server does not listen for connections');
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      for (const listener of others) listener.call(server, socket);
      waitForHello(socket, (isNamed, name) => {
        const special = name === undefined ? undefined : this.#specialFor(name);
        if (special !== undefined) special.emit('connection', socket);
        else if (isNamed) handshake.call(server, socket);
        else this.#unnamed.emit('connection', socket);
      });
    });
    this.#server = server;
    this.#pass(this.#unnamed);
  }

  /** Gives the connections of another server to the one that answers requests. */
  #pass(from: Server): void {
    const server = this.#server;
    if (server === undefined) throw new Error('the handshakes have no server yet');
    from.on('secureConnection', (socket: TLSSocket) => {
      const asked = this.#asked.get(socket);
      if (asked !== undefined) noteClient(socket, asked.client);
      // HTTP/1.1 finds its server through the connection.
      server.emit('secureConnection', Object.assign(socket, { server }));
    });
    from.on('tlsClientError', (error, socket) => server.emit('tlsClientError', error, socket));
  }

  /** Undefined if the host has no settings of its own. */
  #specialFor(name: string): Server | undefined {
    const asks = this.#options.asksFor(name) !== undefined;
    const { ciphers, order } = this.#options.handshakeFor(name) ?? {};
    if (!asks && ciphers === undefined && order === undefined) return undefined;
    const key = JSON.stringify([asks, ciphers, order]);
    const known = this.#special.get(key);
    if (known !== undefined) return known;
    // They have no resources but memory: connections do not need them after the handshake.
    if (this.#special.size >= MOST_SPECIAL) this.#special.clear();
    const server = createServer({
      ...(asks ? this.#asking() : this.#showing()),
      honorCipherOrder: order !== 'client',
      ...(ciphers !== undefined && { ciphers: cipherList(ciphers) }),
      ALPNProtocols: ['h2', 'http/1.1'],
    });
    this.#pass(server);
    this.#special.set(key, server);
    return server;
  }

  #showing(): TlsOptions {
    return { SNICallback: (name, done) => done(null, this.#options.contextFor(name) ?? this.#default) };
  }

  #asking(): TlsOptions {
    const asked = this.#asked;
    const { asksFor } = this.#options;
    return {
      requestCert: true,
      // The response depends on the route. A client of a connection that is closed would not learn why.
      rejectUnauthorized: false,
      // A session that is continued would have the result of an earlier handshake, for example of another host.
      secureOptions: constants.SSL_OP_NO_TICKET,
      SNICallback(this: TLSSocket | undefined, name, done) {
        const found = asksFor(name);
        if (found === undefined || this === undefined) {
          done(new Error('the host does not ask for client certificates any more'));
          return;
        }
        asked.set(this, found);
        done(null, found.context);
      },
    };
  }
}

/** How many combinations of settings have a server. */
const MOST_SPECIAL = 500;

/** What the server name of a client decides. */
export interface HandshakeOptions {
  /** Undefined: the default certificate is used. */
  readonly contextFor: (serverName: string) => SecureContext | undefined;
  /** Undefined: clients of the host are not asked for a certificate. */
  readonly asksFor: (serverName: string) => Asked | undefined;
  readonly handshakeFor: (serverName: string) => Handshake | undefined;
}

/** How a handshake asks for a client certificate. */
export interface Asked {
  readonly context: SecureContext;
  readonly client: Omit<TlsClient, 'certificate'>;
}

const contextOf = ({ certificate, key }: KeyPair): SecureContext =>
  createSecureContext({ cert: certificate, key });

/** Calls `done` when the first message of the client is complete. Its bytes are still in the socket then. */
function waitForHello(socket: Socket, done: (isNamed: boolean, name: string | undefined) => void): void {
  const reader = new ClientHelloReader();
  const received: Buffer[] = [];
  const limit = setTimeout(() => socket.destroy(), CLIENT_HEADERS_MS);
  const forget = (): void => {
    clearTimeout(limit);
    socket.off('readable', read);
    socket.off('close', forget);
    socket.off('error', ignore);
  };
  const read = (): void => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    received.push(chunk);
    const hello = reader.push(chunk);
    if (hello.kind === 'incomplete') return;
    forget();
    socket.unshift(Buffer.concat(received));
    done(hello.kind === 'named', hello.kind === 'named' ? hello.name : undefined);
  };
  socket.on('readable', read);
  socket.on('close', forget);
  // A connection that breaks before the handshake concerns no request.
  socket.on('error', ignore);
}

const ignore = (): void => {};
