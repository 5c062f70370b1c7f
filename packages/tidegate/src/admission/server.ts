import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from '@tidegate/kube';
import { readReview, reviewResponse } from './review.ts';
import { type AdmissionRule, ruleFor } from './rule.ts';

/** An object can have 1.5 MiB in etcd, and an update contains it twice. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;

export const VALIDATE_PATH = '/validate';
export const MUTATE_PATH = '/mutate';

export interface ServerOptions {
  host: string;
  /** 0 chooses a free port. */
  port: number;
  certificate: { certificate: string; key: string };
  rules: readonly AdmissionRule[];
  log: Logger;
}

/** The HTTPS server of the admission webhooks. */
export class AdmissionServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #rules: readonly AdmissionRule[];
  readonly #log: Logger;

  private constructor(options: ServerOptions) {
    const { certificate, key } = options.certificate;
    this.#rules = options.rules;
    this.#log = options.log;
    this.#server = createServer({ cert: certificate, key, minVersion: 'TLSv1.2' }, (request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        this.#log.error({ err: error, path: request.url }, 'admission request failed unexpectedly');
        if (!response.headersSent) response.writeHead(500);
        response.end();
      });
    });
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('tlsClientError', (_error, socket) => socket.destroy());
  }

  static async listen(options: ServerOptions): Promise<AdmissionServer> {
    const admission = new AdmissionServer(options);
    await new Promise<void>((resolve, reject) => {
      admission.#server.once('error', reject);
      admission.#server.listen(options.port, options.host, () => {
        admission.#server.off('error', reject);
        resolve();
      });
    });
    return admission;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** New connections get the new certificate. Open connections stay open. */
  renew({ certificate, key }: { certificate: string; key: string }): void {
    this.#server.setSecureContext({ cert: certificate, key });
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    const forceClose = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, 2_000);
    await closed;
    clearTimeout(forceClose);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split('?')[0];
    if (path === '/healthz' || path === '/readyz') return end(response, 200, 'ok');
    if (path !== VALIDATE_PATH && path !== MUTATE_PATH)
      return end(response, 404, `path ${path} not found; send reviews to ${VALIDATE_PATH} or ${MUTATE_PATH}`);
    if (request.method !== 'POST') return end(response, 405, 'method not allowed; send reviews with POST');
    const body = await read(request);
    if (body === undefined)
      return end(response, 413, `the review is larger than the limit of ${MAX_BODY_BYTES} bytes`);
    let review: ReturnType<typeof readReview>;
    try {
      review = readReview(body);
    } catch (error) {
      return end(response, 400, (error as Error).message);
    }
    const result =
      (await ruleFor(this.#rules, review.request, path === MUTATE_PATH)?.evaluate(review.request)) ?? {};
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(reviewResponse(review.apiVersion, review.request, result)));
  }
}

function end(response: ServerResponse, code: number, text: string): void {
  response.writeHead(code, { 'content-type': 'text/plain' });
  response.end(`${text}\n`);
}

/** Reads the body. Undefined if it is larger than the limit. */
async function read(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
