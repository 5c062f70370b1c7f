import type { Http2SecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import { createSecureContext, createServer, type SecureContext, type Server, type TLSSocket } from 'node:tls';
import type { KeyPair } from '@tidegate/kube/certificates';
import { CLIENT_HEADERS_MS } from '../limits.ts';
import { readClientHello } from './client-hello.ts';

/**
 * Gives each TLS client exactly one certificate. Node.js adds the certificate that SNICallback returns to the one of the
 * server, if their keys have different types; clients then choose the one of the server when it has an ECDSA key and the
 * host has RSA. So the server has no certificate of its own, and clients without a server name, for which Node.js does not
 * call SNICallback, do their handshake with another server.
 */
export class Handshakes {
  readonly #unnamed: Server;
  #default: SecureContext;

  constructor(certificate: KeyPair) {
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
      waitForHello(socket, (isNamed) => {
        if (isNamed) handshake.call(server, socket);
        else this.#unnamed.emit('connection', socket);
      });
    });
    this.#unnamed.on('secureConnection', (socket: TLSSocket) => {
      // HTTP/1.1 finds its server through the connection.
      server.emit('secureConnection', Object.assign(socket, { server }));
    });
    this.#unnamed.on('tlsClientError', (error, socket) => server.emit('tlsClientError', error, socket));
  }
}

const contextOf = ({ certificate, key }: KeyPair): SecureContext =>
  createSecureContext({ cert: certificate, key });

/** Calls `done` when the first message of the client is complete. Its bytes are still in the socket then. */
function waitForHello(socket: Socket, done: (isNamed: boolean) => void): void {
  let received: Buffer = Buffer.alloc(0);
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
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const hello = readClientHello(received);
    if (hello === 'incomplete') return;
    forget();
    socket.unshift(received);
    done(hello === 'named');
  };
  socket.on('readable', read);
  socket.on('close', forget);
  // A connection that breaks before the handshake concerns no request.
  socket.on('error', ignore);
}

const ignore = (): void => {};
