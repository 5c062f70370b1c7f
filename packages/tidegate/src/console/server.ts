import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Assets } from './assets.ts';
import { refuseForeign, SECURITY_HEADERS } from './guard.ts';
import { Session } from './session.ts';

/** A request for data, after it was found to come from a page of this server. */
export interface ApiRequest {
  method: string;
  /** Below `/api/`. */
  path: string;
  query: URLSearchParams;
  signal: AbortSignal;
}

/** An error with a message for the user. */
export class ConsoleError extends Error {
  override readonly name = 'ConsoleError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Returns the answer as JSON, or `undefined` if it has answered itself. */
export type Api = (request: ApiRequest, response: ServerResponse) => Promise<object | undefined>;

/** Serves the pages and the data of the console on a loopback address. */
export class ConsoleServer {
  readonly #server: Server;
  readonly #assets: Assets;
  readonly #api: Api;
  readonly #session = new Session();
  #port = 0;

  private constructor(folder: string, api: Api) {
    this.#assets = new Assets(folder);
    this.#api = api;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async listen(port: number, folder: string, api: Api): Promise<ConsoleServer> {
    const console = new ConsoleServer(folder, api);
    await new Promise<void>((resolve, reject) => {
      console.#server.once('error', reject);
      console.#server.listen(port, '127.0.0.1', resolve);
    });
    console.#port = (console.#server.address() as AddressInfo).port;
    return console;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** The address for the user. The key is in the fragment, which browsers keep to themselves. */
  get address(): string {
    return `${this.origin}/#key=${this.#session.key}`;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    try {
      await this.#answer(request, response, gone.signal);
    } catch (error) {
      if (response.headersSent) response.destroy();
      else if (!gone.signal.aborted) sendError(response, error);
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const { method = 'GET', headers } = request;
    const target = parseTarget(request.url ?? '/');
    const path = target.pathname;
    const refusal = refuseForeign({ method, path, headers }, this.#port);
    if (refusal !== undefined) throw new ConsoleError(refusal.status, refusal.message);
    if (!path.startsWith('/api/')) {
      if (this.#assets.serve(path, request, response)) return;
      throw new ConsoleError(404, `the console has no page ${path}`);
    }
    if (!this.#session.isOpen(headers.authorization))
      throw new ConsoleError(401, 'the key is not valid; open the address that `tidegate console` printed');
    const answer = await this.#api(
      { method, path: path.slice('/api/'.length), query: target.searchParams, signal },
      response,
    );
    if (answer !== undefined) sendJson(response, 200, answer);
  }
}

function parseTarget(url: string): URL {
  // A target with two slashes at its start would be a host for the URL class.
  if (!url.startsWith('/') || url.startsWith('//')) throw new ConsoleError(400, 'invalid request target');
  return new URL(`http://console${url}`);
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}

/** Errors with a name of their own have a message for users. Others are bugs, and their text stays in this process. */
function sendError(response: ServerResponse, error: unknown): void {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const isForUsers = name !== 'Error' && name !== 'TypeError';
  const status = error instanceof ConsoleError ? error.status : 502;
  sendJson(response, status, { message: isForUsers ? message : `the console failed: ${message}` });
}
