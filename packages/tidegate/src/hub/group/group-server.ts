import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock, Logger } from '@tidegate/kube';
import type { KeyPair } from '@tidegate/kube/certificates';
import { OpenSockets } from '@tidegate/serving';
import type { CertificateSource } from '../certificates/index.ts';
import type { Feed } from './feed.ts';
import { nodeOf } from './node-certificate.ts';

export const REPORTS_PATH = '/v1/reports';

export interface GroupServerOptions {
  certificate: Pick<CertificateSource, 'current' | 'onChange'>;
  /** The CA of the client certificates of nodes, in PEM format. */
  clientCa: string;
  feed: Pick<Feed, 'add'>;
  /** Whether the node is in the same pool as this one. */
  isMember(node: string): boolean;
  /** How often a node shows that it is there. */
  beatMs: number;
  clock: Clock;
  log: Logger;
}

/** Above that, the reader is too slow and must connect again. */
const MOST_QUEUED_BYTES = 4 * 1024 * 1024;
/** Connections of members with a stream are never closed for others, so strangers can only replace each other. */
const MOST_CONNECTIONS = 512;
const HANDSHAKE_MS = 5_000;

/**
 * Serves the reports of this node to the other nodes of its pool, and nothing to other clients. A handshake without a client
 * certificate of the CA fails. One without the identity of a node of the pool gets 403.
 */
export class GroupServer {
  readonly #options: GroupServerOptions;
  readonly #server: Server;
  readonly #sockets = new OpenSockets({ most: MOST_CONNECTIONS });
  readonly #readers = new Map<ServerResponse, string>();
  readonly #detach: () => void;

  constructor(options: GroupServerOptions) {
    this.#options = options;
    const { certificate, clientCa, log } = options;
    const context = (pair: KeyPair | undefined): { ca: string; cert?: string; key?: string } =>
      pair === undefined ? { ca: clientCa } : { ca: clientCa, cert: pair.certificate, key: pair.key };
    this.#server = createServer(
      {
        ...context(certificate.current),
        ...{ requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.2' },
        handshakeTimeout: HANDSHAKE_MS,
      },
      (request, response) => this.#serve(request, response),
    );
    this.#server.headersTimeout = HANDSHAKE_MS;
    this.#server.on('tlsClientError', (err) => log.debug({ err }, 'a TLS handshake of the group failed'));
    this.#server.on('error', (err) => log.debug({ err }, 'the server for other hubs of the pool failed'));
    this.#server.on('connection', (socket: Socket) => this.#sockets.add(socket));
    this.#detach = certificate.onChange((pair) => this.#server.setSecureContext(context(pair)));
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  listen(host: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
  }

  /** The members of the pool have changed: ends the streams of nodes that have left. */
  membersChanged(): void {
    for (const [response, node] of this.#readers) if (!this.#options.isMember(node)) response.destroy();
  }

  async close(): Promise<void> {
    this.#detach();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#sockets.closeAll();
    await closed;
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const { isMember, log } = this.#options;
    const socket = request.socket as TLSSocket;
    const node = socket.authorized ? nodeOf(socket.getPeerX509Certificate()) : undefined;
    // A request never has a body.
    request.resume();
    if (node === undefined || !isMember(node)) {
      log.debug({ node }, 'refused a reader that is not a node of this pool');
      refuse(response, 403, 'only nodes of the pool of this node may read its reports');
    } else if (request.method !== 'GET' || request.url !== REPORTS_PATH)
      refuse(response, 404, `the group serves only GET ${REPORTS_PATH}`);
    else {
      response.once('close', this.#sockets.use(socket));
      this.#stream(response, node);
    }
  }

  #stream(response: ServerResponse, node: string): void {
    const { feed, clock, beatMs } = this.#options;
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
    const send = (text: string): void => {
      if (response.writableLength > MOST_QUEUED_BYTES) response.destroy();
      else response.write(text);
    };
    let cancel = (): void => {};
    const beat = (): void => {
      cancel = clock.after(beatMs, () => {
        send('\n');
        beat();
      });
    };
    this.#readers.set(response, node);
    const leave = feed.add(send);
    beat();
    response.once('close', () => {
      cancel();
      leave();
      this.#readers.delete(response);
    });
  }
}

function refuse(response: ServerResponse, code: number, message: string): void {
  response.writeHead(code, { 'Content-Type': 'text/plain', Connection: 'close' });
  response.end(`${message}\n`);
}
