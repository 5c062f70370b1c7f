import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import type { Credential } from '@tidegate/kube';

/** Sends a response and returns true, or returns false to forward the request. */
export type Lie = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * A proxy before an API server that can give false responses, like a broken load balancer. Requests without a token
 * are sent with the node's certificate.
 */
export class Front {
  lie: Lie = () => false;
  /** The requests in order, for example `GET /api/v1/pods`. */
  readonly requests: string[] = [];
  /** The requests in progress. */
  readonly open = new Set<string>();
  readonly #server: Server;
  readonly #target: URL;
  readonly #ca: string;
  readonly #node: Credential;

  constructor(target: string, ca: string, node: Credential) {
    this.#target = new URL(target);
    this.#ca = ca;
    this.#node = node;
    this.#server = createServer((incoming, response) => this.#answer(incoming, response));
    // Like an echo in a pod (kubectl exec).
    this.#server.on('upgrade', (_, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
      socket.on('error', () => socket.destroy());
      socket.pipe(socket);
    });
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #answer(incoming: IncomingMessage, response: ServerResponse): void {
    const name = `${incoming.method} ${incoming.url}`;
    this.requests.push(name);
    this.open.add(name);
    response.once('close', () => this.open.delete(name));
    if (this.lie(incoming, response)) return;
    const { cert, key } = incoming.headers.authorization === undefined ? this.#node : {};
    const onward = request({
      hostname: this.#target.hostname,
      port: this.#target.port,
      method: incoming.method,
      path: incoming.url,
      headers: { ...incoming.headers, host: this.#target.host },
      ca: this.#ca,
      cert,
      key,
    });
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      pipeline(answer, response).catch(() => response.destroy());
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    pipeline(incoming, onward).catch(() => response.destroy());
  }
}
