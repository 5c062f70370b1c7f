import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { KeyPair } from '@tidegate/kube/certificates';

/** The request as an endpoint received it. The endpoint returns this as JSON. */
export interface Echo {
  backend: string;
  method: string;
  url: string;
  /** HTTP version. */
  version: string;
  /** Names and values alternate, unchanged. */
  raw: string[];
  headers: Record<string, string | undefined>;
  bodyBytes: number;
  /** Number of earlier requests on the same connection. */
  before: number;
}

type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

interface BackendOptions {
  handle?: RequestListener;
  upgrade?: Upgrade;
  tls?: KeyPair;
  address?: string;
}

/** An endpoint. It returns the request as JSON, unless `handle` is set. */
export class Backend {
  readonly name: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  requests = 0;
  connections = 0;

  static async start(
    name: string,
    { handle, upgrade, tls, address = '127.0.0.1' }: BackendOptions = {},
  ): Promise<Backend> {
    const backend = new Backend(name, handle, upgrade, tls);
    await new Promise<void>((resolve) => backend.#server.listen(0, address, resolve));
    return backend;
  }

  private constructor(name: string, handle?: RequestListener, upgrade?: Upgrade, tls?: KeyPair) {
    this.name = name;
    const seen = new WeakMap<Socket, number>();
    const listener: RequestListener = (request, response) => {
      this.requests++;
      const before = seen.get(request.socket) ?? 0;
      seen.set(request.socket, before + 1);
      if (handle) handle(request, response);
      else
        echo(name, before, request).then(
          (body) => response.setHeader('Content-Type', 'application/json').end(body),
          () => response.destroy(),
        );
    };
    this.#server = tls
      ? createSecureServer({ cert: tls.certificate, key: tls.key }, listener)
      : createServer(listener);
    this.#server.keepAliveTimeout = 60_000;
    if (upgrade) this.#server.on('upgrade', upgrade);
    this.#server.on('connection', (socket: Socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }
}

async function echo(backend: string, before: number, request: IncomingMessage): Promise<string> {
  let bodyBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) bodyBytes += chunk.length;
  const { method = '', url = '', httpVersion: version, rawHeaders: raw, headers } = request;
  return JSON.stringify({ backend, method, url, version, raw, headers, bodyBytes, before });
}

/** A port without a listener. */
export async function freePort(): Promise<number> {
  const backend = await Backend.start('unused');
  const { port } = backend;
  await backend.stop();
  return port;
}
