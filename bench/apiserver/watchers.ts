import { connect, type TLSSocket } from 'node:tls';
import { type Agent, request } from 'undici';
import { hammer, quantile } from '../report.ts';
import { configMap } from './objects.ts';
import type { Credentials } from './servers.ts';

/** Number of events; the result is a quantile over all watchers and events. */
export const EVENTS = 20;
const PATH = '/api/v1/namespaces/kube-public/configmaps';

/** Connections that watch ConfigMaps. */
export interface Watchers {
  /** Time from sending a POST until each watcher has read the event. */
  fanOut(agent: Agent, prefix: string): Promise<{ p50: number; p99: number }>;
  close(): void;
}

/**
 * Opens watches as plain TLS connections without an HTTP client: a client that takes longer to read an event than the
 * server to write it would measure itself.
 */
export async function openWatchers(url: string, credentials: Credentials, count: number): Promise<Watchers> {
  let onEvent = (): void => undefined;
  const sockets: TLSSocket[] = [];
  await hammer(count, 50, async () => {
    sockets.push(await openWatch(url, credentials, () => onEvent()));
  });

  async function fanOut(agent: Agent, prefix: string): Promise<{ p50: number; p99: number }> {
    const samples: number[] = [];
    for (let round = 0; round < EVENTS; round++) {
      let sentAt = 0;
      let seen = 0;
      const arrived = new Promise<void>((resolve) => {
        onEvent = () => {
          samples.push(performance.now() - sentAt);
          if (++seen === count) resolve();
        };
      });
      sentAt = performance.now();
      const body = configMap(`${prefix}-${round}`);
      const headers = { 'content-type': 'application/json' };
      const response = await request(`${url}${PATH}`, { dispatcher: agent, method: 'POST', body, headers });
      await response.body.dump();
      await arrived;
    }
    onEvent = () => undefined;
    return { p50: quantile(samples, 0.5), p99: quantile(samples, 0.99) };
  }

  return { fanOut, close: () => sockets.forEach((socket) => void socket.destroy()) };
}

/** Resolves once the server has answered. An event of 2 KB arrives in one piece, or its first piece counts. */
function openWatch(url: string, credentials: Credentials, onEvent: () => void): Promise<TLSSocket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), ...credentials }, () => {
      socket.write(`GET ${PATH}?watch=true HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
    });
    socket.once('data', () => resolve(socket));
    socket.on('data', (chunk: Buffer) => {
      if (chunk.includes('"type":"ADDED"')) onEvent();
    });
    socket.on('error', reject);
  });
}
