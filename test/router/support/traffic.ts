import { Agent, request } from 'node:http';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Listening } from '../../../packages/tidegate/src/dataplane/driver.ts';
import { askHttp2 } from '../../dataplane/support/client.ts';
import { PATIENCE_MS } from '../../support/patience.ts';

/** Pause between two requests of a client, so that other clients get processor time. */
const PAUSE_MS = 4;
const TIMEOUT_MS = PATIENCE_MS;

interface TrafficOptions {
  ports: Listening;
  host: string;
  /** CA of the certificates of the host. Clients verify them. */
  ca: string;
}

/**
 * Clients that send requests until they are stopped: over kept and new connections, with and without TLS, over HTTP/2 and
 * over WebSockets. Everything but a response of an endpoint is a failure.
 */
export class Traffic {
  readonly failures: string[] = [];
  /** Number of successful requests by kind of client. */
  readonly answered = new Map<string, number>();
  readonly #options: TrafficOptions;
  readonly #clients: Promise<void>[] = [];
  #stopped = false;

  constructor(options: TrafficOptions) {
    this.#options = options;
    this.#start('kept', new Agent({ keepAlive: true, maxSockets: 1 }));
    this.#start('kept', new Agent({ keepAlive: true, maxSockets: 1 }));
    this.#start('new', new Agent({ keepAlive: false }));
    this.#startSecure('kept TLS', new SecureAgent({ keepAlive: true, maxSockets: 1 }));
    this.#startSecure('new TLS', new SecureAgent({ keepAlive: false, maxCachedSessions: 0 }));
    this.#clients.push(this.#http2(), this.#newHttp2(), this.#webSocket(), this.#webSocket());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
  }

  #start(kind: string, agent: Agent): void {
    const { host, ports } = this.#options;
    const options = { port: ports.http, path: '/', headers: { host }, agent, timeout: TIMEOUT_MS };
    const client = this.#repeat(kind, () => statusOf(request(options)));
    this.#clients.push(client.finally(() => agent.destroy()));
  }

  #startSecure(kind: string, agent: SecureAgent): void {
    const { host, ports, ca } = this.#options;
    const options = { port: ports.https, path: '/', headers: { host }, servername: host, ca, agent };
    const client = this.#repeat(kind, () => statusOf(secureRequest({ ...options, timeout: TIMEOUT_MS })));
    this.#clients.push(client.finally(() => agent.destroy()));
  }

  async #http2(): Promise<void> {
    const session = this.#session();
    await this.#repeat('HTTP/2', async () => (await askHttp2(session, this.#options.host)).status);
    session.close();
  }

  #newHttp2(): Promise<void> {
    return this.#repeat('new HTTP/2', async () => {
      const session = this.#session();
      const { status } = await askHttp2(session, this.#options.host);
      session.close();
      return status;
    });
  }

  #session(): ClientHttp2Session {
    const { host, ports, ca } = this.#options;
    const session = connectHttp2(`https://127.0.0.1:${ports.https}`, { servername: host, ca });
    // The request that is affected reports the error.
    session.on('error', () => {});
    return session;
  }

  /** One WebSocket that stays open, and sends a message from time to time. */
  async #webSocket(): Promise<void> {
    const { host, ports } = this.#options;
    const headers = { host, connection: 'Upgrade', upgrade: 'websocket' };
    const socket = await new Promise<Socket>((resolve, reject) => {
      const opening = request({ port: ports.http, path: '/', headers, agent: false });
      opening.once('upgrade', (_, opened) => resolve(opened));
      opening.once('response', ({ statusCode }) => reject(new Error(`status ${statusCode}`)));
      opening.once('error', reject);
      opening.end();
    });
    let sent = 0;
    await this.#repeat('WebSocket', async () => {
      const word = `word ${++sent}`;
      socket.write(word);
      const received = await new Promise<string>((resolve, reject) => {
        socket.once('data', (data: Buffer) => resolve(data.toString()));
        socket.once('close', () => reject(new Error('the WebSocket was closed')));
      });
      socket.removeAllListeners('close');
      return received === word ? 200 : 0;
    });
    socket.destroy();
  }

  async #repeat(kind: string, ask: () => Promise<number>): Promise<void> {
    while (!this.#stopped) {
      try {
        const status = await ask();
        if (status === 200) this.answered.set(kind, (this.answered.get(kind) ?? 0) + 1);
        else this.failures.push(`${kind}: status ${status}`);
      } catch (error) {
        this.failures.push(`${kind}: ${String(error)}`);
      }
      await sleep(PAUSE_MS);
    }
  }
}

/** The status, after the complete response was received. */
function statusOf(asking: ReturnType<typeof request>): Promise<number> {
  return new Promise((resolve, reject) => {
    asking.once('response', (response) => {
      response.resume();
      response.once('error', reject);
      response.once('end', () => resolve(response.statusCode ?? 0));
    });
    asking.once('timeout', () => asking.destroy(new Error('no answer')));
    asking.once('error', reject);
    asking.end();
  });
}
