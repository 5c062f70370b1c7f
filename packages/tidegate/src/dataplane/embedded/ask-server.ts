import { Agent, type IncomingMessage, request } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { FlatHeaders } from './flat-headers.ts';
import { toFlat } from './headers.ts';

/** A request to a server that is not forwarded for a client, for example one that authenticates clients. */
export interface Question {
  readonly address: string;
  readonly port: number;
  /** The name for SNI, empty without one. Undefined: without TLS. */
  readonly servername: string | undefined;
  /** Settings of TLS. */
  readonly tls?: ConnectionOptions;
  readonly method: string;
  readonly target: string;
  /** Without Content-Length. */
  readonly headers: FlatHeaders;
  readonly body?: Buffer;
  readonly connectTimeoutMs: number;
  readonly readTimeoutMs: number;
  /** Ends the request. */
  readonly signal: AbortSignal;
}

/** The head of the answer. */
export interface ServerAnswer {
  readonly status: number;
  readonly headers: FlatHeaders;
}

/** Keeps connections. Its owner destroys it. */
export interface KeptConnections {
  readonly agent: Agent | SecureAgent;
  /** How many requests a connection is used for. */
  readonly requests: number;
  readonly used: WeakMap<Socket, number>;
}

export const keptConnections = (
  { connections, requests, seconds }: { connections: number; requests: number; seconds: number },
  isSecure: boolean,
): KeptConnections => ({
  agent: new (isSecure ? SecureAgent : Agent)({
    keepAlive: true,
    maxFreeSockets: connections,
    timeout: seconds * 1000,
  }),
  requests,
  used: new WeakMap(),
});

/** Bodies are not used. A longer one closes the connection. */
const MOST_BODY_BYTES = 65_536;

/** Rejects if there is no answer, or not in time. */
export async function askServer(
  question: Question,
  kept: KeptConnections | undefined,
): Promise<ServerAnswer> {
  try {
    return await ask(question, kept);
  } catch (error) {
    // The server may have closed a kept connection just now.
    if (!(error instanceof StaleConnection)) throw error;
    return ask(question, undefined);
  }
}

class StaleConnection extends Error {
  override readonly name = 'StaleConnection';
}

function ask(question: Question, kept: KeptConnections | undefined): Promise<ServerAnswer> {
  const { address, port, servername, method, target, headers, signal } = question;
  return new Promise((resolve, reject) => {
    const common = {
      host: address,
      port,
      method,
      path: target,
      signal,
      agent: kept?.agent ?? false,
    } as const;
    const bytes = question.body?.length ?? (['POST', 'PUT', 'PATCH'].includes(method) ? 0 : undefined);
    const length = bytes === undefined ? [] : ['Content-Length', String(bytes)];
    const all = [...headers, ...length, 'Connection', kept === undefined ? 'close' : 'keep-alive'];
    const call =
      servername === undefined
        ? request({ ...common, headers: all })
        : secureRequest({ ...common, headers: all, servername, rejectUnauthorized: false, ...question.tls });
    let timer: NodeJS.Timeout | undefined;
    const wait = (ms: number, what: string): void => {
      clearTimeout(timer);
      timer = setTimeout(() => call.destroy(new Error(`the server did not ${what} in ${ms} ms`)), ms);
    };
    wait(question.connectTimeoutMs, 'accept the connection');
    call.once('socket', (socket: Socket) => {
      const connected = (): void => wait(question.readTimeoutMs, 'answer');
      if (socket.connecting) socket.once(servername === undefined ? 'connect' : 'secureConnect', connected);
      else connected();
    });
    call.once('response', (response) => {
      clearTimeout(timer);
      finish(response, kept, question.readTimeoutMs);
      resolve({ status: response.statusCode ?? 0, headers: toFlat(response.rawHeaders) });
    });
    call.once('error', (error) => {
      clearTimeout(timer);
      const isStale = call.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
      reject(isStale ? new StaleConnection('the server has closed the connection', { cause: error }) : error);
    });
    call.end(question.body);
  });
}

/**
 * Reads the body, so that the connection can be used again. A server of a tenant could send it without end, so a connection that is
 * not kept is closed at once, and reading is limited in time.
 */
function finish(response: IncomingMessage, kept: KeptConnections | undefined, readTimeoutMs: number): void {
  const { socket } = response;
  response.on('error', () => {});
  if (kept === undefined) {
    response.destroy();
    return;
  }
  const limit = setTimeout(() => response.destroy(), readTimeoutMs);
  response.once('close', () => clearTimeout(limit));
  let bytes = 0;
  const count = (kept.used.get(socket) ?? 0) + 1;
  kept.used.set(socket, count);
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MOST_BODY_BYTES) response.destroy();
  });
  if (count >= kept.requests) response.once('end', () => socket.destroy());
}
