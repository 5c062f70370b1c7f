import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '@tidegate/kube';

interface HealthOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  /** Reasons why the program is not ready; empty if it is ready. */
  reasons(): readonly string[];
  /** What does not work although the program is ready, for example because its disk is full. */
  warnings?(): readonly string[];
  /** In the text format of Prometheus. */
  metrics(): Promise<string>;
  log: Logger;
}

/**
 * Serves `/healthz` (the process is alive) and `/readyz` (it does its work; otherwise why not) for kubelets, and
 * `/metrics` for Prometheus.
 */
export class HealthServer {
  readonly #server: Server;
  readonly #options: HealthOptions;

  private constructor(options: HealthOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#answer(request.url ?? '', response).catch((err: unknown) => {
        options.log.error({ err, path: request.url }, 'a health or metrics request failed');
        if (response.headersSent) response.destroy();
        else end(response, 500, 'the request failed; see the log');
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
        const warnings = (this.#options.warnings?.() ?? []).map((warning) => `warning: ${warning}`);
        if (reasons.length === 0) return end(response, 200, ['ok', ...warnings].join('\n'));
        return end(response, 503, ['not ready', ...reasons, ...warnings].join('\n'));
      }
      case '/metrics':
        return end(response, 200, await this.#options.metrics(), 'text/plain; version=0.0.4; charset=utf-8');
      default:
        return end(response, 404, 'not found; the paths are /healthz, /readyz and /metrics');
    }
  }
}

function end(response: ServerResponse, code: number, text: string, type = 'text/plain'): void {
  response.writeHead(code, { 'content-type': type });
  response.end(text);
}
