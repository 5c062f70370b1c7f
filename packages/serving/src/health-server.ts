import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '@tidegate/kube';

interface HealthOptions {
  host: string;
  /** 0 takes any free one. */
  port: number;
  /** Ready without reasons. */
  reasons(): readonly string[];
  /** In the text format of Prometheus. */
  metrics(): Promise<string>;
  log: Logger;
}

/** Tells a kubelet whether we live (`/healthz`) and do our work, or why not (`/readyz`), and Prometheus how (`/metrics`). */
export class HealthServer {
  readonly #server: Server;
  readonly #options: HealthOptions;

  private constructor(options: HealthOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#answer(request.url ?? '', response).catch((err: unknown) => {
        options.log.error({ err, path: request.url }, 'a request about health failed');
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
      case '/readyz': {
        const reasons = this.#options.reasons();
        if (reasons.length === 0) return end(response, 200, 'ok');
        return end(response, 503, ['not ready', ...reasons].join('\n'));
      }
      case '/metrics':
        return end(response, 200, await this.#options.metrics(), 'text/plain; version=0.0.4; charset=utf-8');
      default:
        return end(response, 404, 'there is /healthz, /readyz and /metrics');
    }
  }
}

function end(response: ServerResponse, code: number, text: string, type = 'text/plain'): void {
  response.writeHead(code, { 'content-type': type });
  response.end(text);
}
