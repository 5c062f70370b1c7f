import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** What happens to a call on its way: it is forwarded, its answer is lost, or it never arrives. */
export type Fate = 'forward' | 'loseAnswer' | 'refuse';

type Hook = (method: string, path: string, headers: IncomingHttpHeaders) => Promise<void>;

/** A proxy in front of an API that loses calls or their answers, as a manager that is killed does. */
export class Faults {
  readonly url: string;
  /** Decides about each write. Reads are always forwarded. */
  fate: (method: string, path: string) => Fate = () => 'forward';
  /** Awaited before a write is forwarded, and before its answer is returned. */
  before: Hook = async () => {};
  answered: Hook = async () => {};
  /** Writes that have reached the API. */
  readonly writes: string[] = [];
  readonly reads: string[] = [];
  readonly #server: Server;
  readonly #headers: Record<string, string>;

  /** `headers` are added to all calls. */
  static async start(target: string, headers: Record<string, string> = {}): Promise<Faults> {
    let faults: Faults;
    const server = createServer((incoming, response) => faults.#forward(target, incoming, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    faults = new Faults(server, headers);
    return faults;
  }

  private constructor(server: Server, headers: Record<string, string>) {
    this.#headers = headers;
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async #forward(target: string, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = incoming;
    const fate = method === 'GET' ? 'forward' : this.fate(method, url);
    if (fate === 'refuse') {
      incoming.socket.destroy();
      return;
    }
    if (method === 'GET') this.reads.push(url);
    else this.writes.push(`${method} ${url}`);
    if (method !== 'GET') await this.before(method, url, headers);
    const outgoing = request(
      `${target}${url}`,
      { method, headers: { ...headers, ...this.#headers } },
      async (answer) => {
        if (fate === 'loseAnswer') {
          answer.resume();
          answer.once('end', () => incoming.socket.destroy());
          return;
        }
        if (method !== 'GET') await this.answered(method, url, headers);
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    outgoing.once('error', () => incoming.socket.destroy());
    incoming.pipe(outgoing);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
