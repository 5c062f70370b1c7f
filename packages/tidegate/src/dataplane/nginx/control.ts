import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { CapacityError } from '../driver.ts';

/** What nginx says of itself. */
export interface NginxState {
  generation: number;
  /** The pids of its workers. */
  workers: number[];
}

const PATIENCE_MS = 10_000;
const FULL = 507;

/** The entrance of nginx that is the agent's own. */
export class Control {
  readonly #socketPath: string;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  /** Tells all workers of changes; with `commit` they go by these and all before. */
  async change(lines: string, version: number, commit: boolean): Promise<NginxState> {
    const query = `version=${version}${commit ? '&commit=1' : ''}`;
    return JSON.parse(await this.#ask('POST', `/change?${query}`, lines)) as NginxState;
  }

  async state(): Promise<NginxState> {
    return JSON.parse(await this.#ask('GET', '/state')) as NginxState;
  }

  async metrics(): Promise<string> {
    return this.#ask('GET', '/metrics');
  }

  async #ask(method: string, path: string, body = ''): Promise<string> {
    const response = await this.#send(method, path, body);
    const text = (await buffer(response)).toString();
    if (response.statusCode === FULL) throw new CapacityError(`nginx has no room for it: ${text.trim()}`);
    if (response.statusCode !== 200) {
      throw new Error(`nginx answered ${method} ${path} with ${response.statusCode}: ${text.trim()}`);
    }
    return text;
  }

  #send(method: string, path: string, body: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const length = { 'content-length': Buffer.byteLength(body) };
      const call = request({ socketPath: this.#socketPath, method, path, headers: length }, resolve);
      call.setTimeout(PATIENCE_MS, () =>
        call.destroy(new Error(`nginx gave no answer to ${method} ${path}`)),
      );
      call.once('error', reject);
      call.end(body);
    });
  }
}
