import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError, notFound } from '@tidegate/serving';
import type { Pki } from '../auth/pki.ts';
import type { Node } from '../resources/core/types.ts';
import { decodeStored } from '../served/codec.ts';
import type { Store } from '../store/types.ts';

const DEFAULT_PORT = 10250;
/** Timeout for the response headers. The duration of the body is not limited. */
const PATIENCE_MS = 30_000;

/** A request to the HTTP API of a kubelet. */
export interface KubeletRequest {
  method: 'GET' | 'POST';
  path: string;
  query: URLSearchParams;
  signal: AbortSignal;
}

/** The response of a kubelet to a request to switch the protocol: it agrees if there is a connection. */
export interface Upgraded {
  answer: IncomingMessage;
  connection: Duplex | undefined;
}

/**
 * Sends requests to kubelets at the address and port in the Node object. The kubelet must have a certificate of the
 * cluster CA for that address, and receives the client certificate of the API server.
 */
export class KubeletClient {
  readonly #store: Store;
  /** One connection for each request, because a followed log would occupy a shared connection. */
  readonly #agent: Agent;

  constructor(store: Store, pki: Pki) {
    this.#store = store;
    const { certificate, key } = pki.kubeletClient;
    this.#agent = new Agent({ ca: pki.ca, cert: certificate, key, minVersion: 'TLSv1.2', keepAlive: false });
  }

  /** Resolves with the response headers, whatever the status. */
  open(nodeName: string, wanted: KubeletRequest): Promise<IncomingMessage> {
    return this.#ask(nodeName, wanted, {}, (asked, resolve) => asked.once('response', resolve));
  }

  /** Asks to switch the protocol of the connection, with the headers of the client. */
  upgrade(nodeName: string, wanted: KubeletRequest, headers: Record<string, string>): Promise<Upgraded> {
    return this.#ask<Upgraded>(nodeName, wanted, headers, (asked, resolve) => {
      asked.once('response', (answer) => resolve({ answer, connection: undefined }));
      asked.once('upgrade', (answer, connection, head) => {
        if (head.length > 0) connection.unshift(head);
        resolve({ answer, connection });
      });
    });
  }

  async #ask<T>(
    nodeName: string,
    { method, path, query, signal }: KubeletRequest,
    headers: Record<string, string>,
    listen: (asked: ClientRequest, resolve: (answer: T) => void) => void,
  ): Promise<T> {
    const { host, port } = this.#locate(nodeName);
    const search = query.size === 0 ? '' : `?${query}`;
    return new Promise((resolve, reject) => {
      const options = { host, port, method, path: path + search, headers, agent: this.#agent, signal };
      const asked = request(options);
      const patience = setTimeout(() => asked.destroy(new Error('i/o timeout')), PATIENCE_MS);
      asked.once('close', () => clearTimeout(patience));
      listen(asked, (answer) => {
        clearTimeout(patience);
        resolve(answer);
      });
      asked.once('error', (error) => {
        const address = isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
        const what = `${method === 'GET' ? 'Get' : 'Post'} "https://${address}${path}${search}"`;
        reject(new ApiError(500, '', `${what}: ${describe(error, address)}`, undefined, error));
      });
      asked.end();
    });
  }

  #locate(nodeName: string): { host: string; port: number } {
    const entry = this.#store.get({ resource: 'nodes', namespace: '', name: nodeName });
    if (entry === undefined) throw notFound({ group: '', resource: 'nodes' }, nodeName);
    const node = decodeStored(entry) as Node;
    const { addresses = [] } = node.status;
    const host = addresses.find(({ type }) => type === 'InternalIP')?.address;
    if (host === undefined) {
      const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(' ');
      throw new ApiError(500, '', `no preferred addresses found; known addresses: [${known}]`);
    }
    return { host, port: this.portOf(node) };
  }

  portOf({ status }: Node): number {
    return status.daemonEndpoints?.kubeletEndpoint?.Port || DEFAULT_PORT;
  }
}

/** The words of kube-apiserver for the most common error. */
function describe(error: Error & { code?: string }, address: string): string {
  if (error.code === 'ECONNREFUSED') return `dial tcp ${address}: connect: connection refused`;
  return error.message;
}
