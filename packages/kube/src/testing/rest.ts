import type { ServerResponse } from 'node:http';
import type { KubeObject } from '../base/object.ts';
import type { FakeServer, ReceivedRequest } from './fake-server.ts';

/**
 * Objects at their paths with optimistic concurrency, for tests that need no list or watch. Pass `answer` to
 * `FakeServer.intercept`.
 */
export class RestObjects {
  readonly byPath = new Map<string, KubeObject>();
  #revision = 1_000;

  readonly answer: FakeServer['intercept'] = (request, response) => {
    const { code, body } = this.#handle(request);
    return answerJson(response, body, code);
  };

  #handle({ method, url, body }: ReceivedRequest): { code: number; body: unknown } {
    const sent = body === '' ? undefined : (JSON.parse(body) as KubeObject);
    if (method === 'POST') return this.#create(`${url.pathname}/${sent?.metadata.name}`, sent!);
    const stored = this.byPath.get(url.pathname);
    if (stored === undefined) return failure(404, 'NotFound');
    if (method === 'GET') return { code: 200, body: stored };
    if (method === 'DELETE') return this.#delete(url.pathname, stored);
    const version = sent?.metadata?.resourceVersion;
    if (version !== undefined && version !== stored.metadata.resourceVersion) return failure(409, 'Conflict');
    return this.#store(url.pathname, method === 'PUT' ? sent! : (merge(stored, sent) as KubeObject));
  }

  #create(path: string, object: KubeObject): { code: number; body: unknown } {
    return this.byPath.has(path) ? failure(409, 'AlreadyExists') : this.#store(path, object);
  }

  #store(path: string, object: KubeObject): { code: number; body: unknown } {
    const metadata = { ...object.metadata, resourceVersion: String(++this.#revision) };
    const stored = { ...object, metadata };
    this.byPath.set(path, stored);
    return { code: 200, body: stored };
  }

  #delete(path: string, stored: KubeObject): { code: number; body: unknown } {
    this.byPath.delete(path);
    return { code: 200, body: stored };
  }
}

function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> = { ...(target as Record<string, unknown>) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value);
  }
  return result;
}

const failure = (code: number, reason: string): { code: number; body: unknown } => ({
  code,
  body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: reason, reason, code },
});

/** Answers with JSON. Returns true, for use in `FakeServer.intercept`. */
export function answerJson(response: ServerResponse, body: unknown, code = 200): true {
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
  return true;
}
