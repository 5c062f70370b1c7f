import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { CapacityError } from '../driver.ts';

/** The state that nginx reports. */
export interface NginxState {
  generation: number;
  /** Process IDs. */
  workers: number[];
}

const TIMEOUT_MS = 10_000;
const FULL = 507;

/** The client of nginx's control socket, which only the agent can open. */
export class Control {
  readonly #socketPath: string;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  /** Writes changes. With `commit`, the workers apply these changes and all earlier ones. */
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
    if (response.statusCode === FULL)
      throw new CapacityError(`the shared memory of nginx is full: ${text.trim()}`);
    if (response.statusCode !== 200) {
      throw new Error(`nginx responded to ${method} ${path} with ${response.statusCode}: ${text.trim()}`);
    }
    return text;
  }

  #send(method: string, path: string, body: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const length = { 'content-length': Buffer.byteLength(body) };
      const call = request({ socketPath: this.#socketPath, method, path, headers: length }, resolve);
      call.setTimeout(TIMEOUT_MS, () =>
        call.destroy(new Error(`nginx did not respond to ${method} ${path} within ${TIMEOUT_MS / 1000} s`)),
      );
      call.once('error', reject);
      call.end(body);
    });
  }
}
