import type { ServerResponse } from 'node:http';
import type { Hello, Row } from '@tidegate/console/wire';
import type { Feed } from './feed.ts';
import { type Api, type ApiRequest, ConsoleError } from './server.ts';
import { stream } from './stream.ts';

/** What a path below `/api/` answers. Undefined if the handler has answered itself. */
export type Handler = (request: ApiRequest, response: ServerResponse) => Promise<object | undefined>;

/** Finds the handler of a request, for example that of `GET trace`. */
export function apiOf(handlers: Readonly<Record<string, Handler>>): Api {
  return (request, response) => {
    const name = `${request.method} ${request.path}`;
    const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
    if (handler === undefined) throw new ConsoleError(404, `the console does not serve ${name}`);
    return handler(request, response);
  };
}

/**
 * The stream of rows. Pods are the largest part of most clusters, so the stream contains only those of the pool in the
 * query, and then nothing else.
 */
export const eventsHandler =
  (feed: Feed, hello: Hello): Handler =>
  async ({ query }, response) => {
    const pool = query.get('pods');
    stream(response, feed, hello, pool === null ? ({ kind }) => kind !== 'Pod' : podsOf(feed, pool));
    return undefined;
  };

/** Selects pods on nodes of a pool, for example of `NodePool/hangzhou`. A deleted pod has no row, and is always selected. */
function podsOf(feed: Feed, pool: string): (row: { kind: Row['kind']; key: string }) => boolean {
  const [kind, name] = pool.split('/');
  return ({ kind: rowKind, key }) => {
    if (rowKind !== 'Pod') return false;
    const pod = feed.get('Pod', key);
    if (pod === undefined) return true;
    const node = pod.kind === 'Pod' && pod.node !== undefined ? feed.get('Node', pod.node) : undefined;
    if (node?.kind !== 'Node') return false;
    return name === (kind === 'NodePool' ? node.nodePool : node.nodeGroup);
  };
}
