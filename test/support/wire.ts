/** Requests as they go over the wire: for what clients that know Kubernetes would not show. */
import { type IncomingMessage, type RequestOptions, request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import type { KubeObject } from '@tidegate/kube';

/** Where and as whom: a host and port, or the file of a socket; with TLS where there is a CA. */
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

/** One request and its whole answer. */
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

/** An answer that goes on. Resolves when it has begun. */
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
    // A connection of its own each: nobody gets the identity of whoever asked before.
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

/** A watch, with all that it has told so far. */
export class Watching {
  readonly status: number;
  readonly frames: Frame[] = [];
  /** Resolves when it is over: by its end, or broken off. */
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

  /** `ADDED web 12` and the like. */
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
