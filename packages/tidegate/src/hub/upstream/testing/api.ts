import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A minimal API server. It is ready, and responds to every other path as the test sets it. */
export class SmallApi {
  readonly server: Server;
  readonly requests: IncomingMessage[] = [];
  answer: Answer = (_, response) => response.end('{}');
  ready: Answer = (_, response) => response.end('ok');
  /** The number of requests to /readyz. */
  probes = 0;

  constructor(server: Server = createServer()) {
    this.server = server;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (request.url?.startsWith('/readyz')) {
        this.probes++;
        this.ready(request, response);
        return;
      }
      this.requests.push(request);
      this.answer(request, response);
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
