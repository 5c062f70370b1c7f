import { Edge } from '../support/edge.ts';
import type { Meaning } from './reference.ts';
import type { FuzzTarget } from './target.ts';

/** The hub before an API server that records every request with a header X-Fuzz, and answers it with 200. */
export async function startHubTarget(): Promise<FuzzTarget> {
  const edge = await Edge.start({ front: true });
  const log = new Map<string, Meaning[]>();
  edge.front.lie = (request, response) => {
    const id = request.headers['x-fuzz'];
    if (typeof id !== 'string') return false;
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
    });
    request.on('end', () => {
      const { method = '', url: target = '', headers } = request;
      const meaning = { method, target, authorization: headers.authorization, length };
      log.set(id, [...(log.get(id) ?? []), meaning]);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"kind":"Secret","apiVersion":"v1","metadata":{"name":"web","namespace":"default"}}');
    });
    return true;
  };
  const tokens = [await edge.token('fuzz'), await edge.token('other')];
  return {
    name: 'hub',
    port: edge.ports.http,
    tokens,
    received: (id) => log.get(id) ?? [],
    mayAnswer: ({ target }) => mayAnswer(target),
    stop: () => edge.stop(),
  };
}

/**
 * Reads of single objects, proxied requests and health checks must reach the API server. Everything else may be answered
 * by the hub: old prefixes are refused, the hub requests discovery documents itself, and collections may come from a copy.
 */
const FORWARDED =
  /^\/(?:api\/v1\/(?:namespaces\/[^/?]+\/(?:(?:secrets|pods|services)\/[^/?]+(?:\?|$)|(?:pods|services)\/[^/?]+\/proxy\/)|nodes\/[^/?]+\/proxy\/)|apis\/apps\/v1\/namespaces\/[^/?]+\/deployments\/[^/?]+(?:\?|$)|healthz(?:\?|$))/;

const mayAnswer = (target: string): boolean => !FORWARDED.test(target);
