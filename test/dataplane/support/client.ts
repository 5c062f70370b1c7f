import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  type IncomingHttpHeaders as Http2Headers,
} from 'node:http2';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { connect } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type PeerCertificate } from 'node:tls';
import type { Echo } from './backend.ts';

export interface Ask {
  method?: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
  /** Of the head of the response, in bytes. */
  maxHeaderSize?: number;
  /** Default: a new connection for each request. */
  agent?: Agent | SecureAgent;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  echo: Echo;
}

const NO_AGENT = new Agent({ keepAlive: false });
const NO_SECURE_AGENT = new SecureAgent({ keepAlive: false });

/** Sends a request for `host/path`. The path is sent unchanged. */
export function ask(
  port: number,
  where: string,
  { method = 'GET', headers, body, agent, maxHeaderSize }: Ask = {},
): Promise<Answer> {
  const [host, path] = split(where);
  const own = { host, ...headers };
  const options = { port, path, method, headers: own, agent: agent ?? NO_AGENT, maxHeaderSize };
  return new Promise((resolve, reject) => {
    request(options, (response) => read(response).then(resolve, reject))
      .on('error', reject)
      .end(body);
  });
}

export function askSecurely(
  port: number,
  where: string,
  { method = 'GET', headers, body, agent }: Ask = {},
): Promise<Answer> {
  const [host, path] = split(where);
  const options = { port, path, method, headers: { host, ...headers }, agent: agent ?? NO_SECURE_AGENT };
  return new Promise((resolve, reject) => {
    secureRequest(
      { ...options, servername: host.replace(/:\d+$/, ''), rejectUnauthorized: false },
      (response) => read(response).then(resolve, reject),
    )
      .on('error', reject)
      .end(body);
  });
}

function split(where: string): [host: string, path: string] {
  const slash = where.indexOf('/');
  return slash < 0 ? [where, '/'] : [where.slice(0, slash), where.slice(slash)];
}

async function read(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return answer(response.statusCode ?? 0, response.headers, Buffer.concat(chunks).toString());
}

const answer = (status: number, headers: IncomingHttpHeaders, body: string): Answer => ({
  status,
  headers,
  body,
  get echo() {
    return JSON.parse(body) as Echo;
  },
});

/** Sends bytes and returns everything that is received until the connection is closed. */
export function askRaw(port: number, bytes: string, { secure = false } = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const where = { port, host: '127.0.0.1' };
    const socket = secure ? connectTls({ ...where, rejectUnauthorized: false }) : connect(where);
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      received += text;
    });
    socket.once('error', reject);
    socket.once('close', () => resolve(received));
    socket.write(bytes, 'latin1');
  });
}

export const statusOf = (raw: string): number => Number(/^HTTP\/1\.[01] (\d{3})/.exec(raw)?.[1]);

/** The certificate that the server presents for this server name. */
export function shownCertificate(
  port: number,
  servername: string | undefined,
  options: ConnectionOptions = {},
): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const target = { port, host: '127.0.0.1', servername, rejectUnauthorized: false };
    const socket = connectTls({ ...target, ...options }, () => {
      resolve(socket.getPeerCertificate());
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

export const http2Session = (port: number, servername: string): ClientHttp2Session =>
  connectHttp2(`https://127.0.0.1:${port}`, { servername, rejectUnauthorized: false });

export interface Http2Answer extends Answer {
  trailers: Http2Headers;
}

export function askHttp2(
  session: ClientHttp2Session,
  where: string,
  { method = 'GET', headers, body }: Ask = {},
): Promise<Http2Answer> {
  const [host, path] = split(where);
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': method, ':path': path, ':authority': host, ...headers });
    const chunks: Buffer[] = [];
    let head: Http2Headers = {};
    let trailers: Http2Headers = {};
    stream.once('response', (received) => {
      head = received;
    });
    stream.once('trailers', (received) => {
      trailers = received;
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.once('error', reject);
    stream.once('end', () =>
      resolve(
        Object.assign(answer(Number(head[':status']), head, Buffer.concat(chunks).toString()), { trailers }),
      ),
    );
    stream.end(body);
  });
}
