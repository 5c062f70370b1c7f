import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger, Metrics } from '../kube/index.ts';

export interface HealthOptions {
  host: string;
  /** 0 takes any free one. */
  port: number;
  metrics: Metrics;
  log: Logger;
}

/** Tells a kubelet whether we live (`/healthz`) and can be asked (`/readyz`), and Prometheus how we do (`/metrics`). */
export class HealthServer {
  ready = false;
  readonly #server: Server;
  readonly #metrics: Metrics;

  private constructor({ metrics, log }: HealthOptions) {
    this.#metrics = metrics;
    this.#server = createServer((request, response) => {
      this.#answer(request.url ?? '', response).catch((err: unknown) => {
        log.error({ err, path: request.url }, 'a request to the health server failed');
        if (response.headersSent) response.destroy();
        else end(response, 500, 'failed; the log says why');
      });
    });
  }

  static async listen(options: HealthOptions): Promise<HealthServer> {
    const health = new HealthServer(options);
    await new Promise<void>((resolve, reject) => {
      health.#server.once('error', reject);
      health.#server.listen(options.port, options.host, () => {
        health.#server.off('error', reject);
        resolve();
      });
    });
    return health;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(url: string, response: ServerResponse): Promise<void> {
    switch (url.split('?')[0]) {
      case '/healthz':
        return end(response, 200, 'ok');
      case '/readyz':
        return this.ready ? end(response, 200, 'ok') : end(response, 503, 'not ready');
      case '/metrics':
        return end(response, 200, await this.#metrics.scrape(), this.#metrics.contentType);
      default:
        return end(response, 404, 'there is /healthz, /readyz and /metrics');
    }
  }
}

function end(response: ServerResponse, code: number, text: string, type = 'text/plain'): void {
  response.writeHead(code, { 'content-type': type });
  response.end(text);
}
