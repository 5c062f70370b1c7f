/** Raw HTTP requests, for tests of details that Kubernetes clients do not show. */
import { type IncomingMessage, type RequestOptions, request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import type { KubeObject } from '@tidegate/kube';

/** The target and the credentials: a host and port, or a unix socket; with TLS if there is a CA. */
export interface Way {
  readonly host?: string;
  readonly port?: number;
  readonly socketPath?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface Said {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  json<T = KubeObject>(): T;
}

/** One request and its complete response. */
export async function say(way: Way, path: string, { body, ...asked }: Asked = {}): Promise<Said> {
  const json: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await open(way, path, { ...asked, headers: { ...json, ...asked.headers }, body });
  const bytes = await buffer(response);
  const text = (response.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString();
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text,
    json: <T>() => JSON.parse(text) as T,
  };
}

/** A streaming response. Resolves when it has started. */
export function open(
  way: Way,
  path: string,
  { method = 'GET', headers, body }: Asked = {},
): Promise<IncomingMessage> {
  const { headers: ofWay, ...where } = way;
  const options: RequestOptions = {
    ...where,
    method,
    path,
    headers: { ...ofWay, ...headers },
    // One connection per request, so that no request uses the identity of another.
    agent: false,
  };
  return new Promise((resolve, reject) => {
    const sent = (way.ca === undefined ? requestPlain : requestSecure)(options, resolve);
    sent.once('error', reject);
    sent.end(
      body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    );
  });
}

export interface Frame {
  readonly type: string;
  readonly object: KubeObject;
}

/** A watch with all events received so far. */
export class Watching {
  readonly status: number;
  readonly frames: Frame[] = [];
  /** Resolves when the watch has ended or was interrupted. */
  readonly over: Promise<'ended' | 'broken'>;
  readonly #response: IncomingMessage;

  private constructor(response: IncomingMessage) {
    this.status = response.statusCode ?? 0;
    this.#response = response;
    this.over = this.#read();
  }

  static async open(way: Way, path: string, asked?: Asked): Promise<Watching> {
    return new Watching(await open(way, path, asked));
  }

  /** For example `ADDED web 12`. */
  get story(): string[] {
    return this.frames.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}`.trim());
  }

  close(): void {
    this.#response.destroy();
  }

  async #read(): Promise<'ended' | 'broken'> {
    let rest = '';
    try {
      for await (const chunk of this.#response.setEncoding('utf8') as AsyncIterable<string>) {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        this.frames.push(...lines.filter(Boolean).map((line) => JSON.parse(line) as Frame));
      }
      return 'ended';
    } catch {
      return 'broken';
    }
  }
}
