import { Edge } from '../support/edge.ts';
import { bytesOf, drawRequest, type HostileRequest, smallerRequests } from './grammar.ts';
import { type Meaning, meaningOf } from './reference.ts';
import { exchange, type FuzzTarget } from './target.ts';

/** A plain request that ends the connection. A component that has lost its place in the stream would execute another. */
const LAST = 'GET /healthz HTTP/1.1\r\nHost: hub\r\nX-Fuzz: last\r\nConnection: close\r\n\r\n';

/** The hub before an API server that records every request with a header X-Fuzz, and answers it with 200. */
export async function startHubTarget(): Promise<FuzzTarget<HostileRequest>> {
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
  const received = (id: string): readonly Meaning[] => log.get(id) ?? [];
  return {
    name: 'hub',
    draw: (chance, id) => drawRequest(chance, id, tokens),
    smaller: smallerRequests,
    bytesOf,
    async check(request) {
      const meaning = meaningOf(request);
      const bytes = Buffer.concat([bytesOf(request), Buffer.from(LAST)]);
      const answer = await exchange(edge.ports.http, bytes);
      const hidden = received(`hidden-${request.id}`);
      return {
        plain: meaning !== undefined,
        difference: difference(meaning, answer, { received: received(request.id), hidden }),
      };
    },
    stop: () => edge.stop(),
  };
}

/** What the API server received: the request itself, and the one that is hidden in its body. */
interface Received {
  readonly received: readonly Meaning[];
  readonly hidden: readonly Meaning[];
}

function difference(
  meaning: Meaning | undefined,
  answer: string,
  { received, hidden }: Received,
): string | undefined {
  if (hidden.length > 0) return 'a request that was hidden in the body was executed';
  if (meaning === undefined) {
    if (received.length > 0) return `an ambiguous request was forwarded as ${JSON.stringify(received)}`;
    return /^HTTP\/1\.1 4\d\d |^$/.test(answer)
      ? undefined
      : `an ambiguous request was answered with ${answer.slice(0, 80)}`;
  }
  if (received.length === 0)
    return mayAnswer(meaning.target)
      ? undefined
      : `a plain request was not forwarded, but answered with ${answer.slice(0, 400)}`;
  const [first] = received;
  const same = received.length === 1 && JSON.stringify(first) === JSON.stringify(meaning);
  return same ? undefined : `forwarded as ${JSON.stringify(received)}, expected ${JSON.stringify(meaning)}`;
}

/**
 * Reads of single objects, proxied requests and health checks must reach the API server. Everything else may be answered
 * by the hub: old prefixes are refused, the hub requests discovery documents itself, and collections may come from a copy.
 */
const FORWARDED =
  /^\/(?:api\/v1\/(?:namespaces\/[^/?]+\/(?:(?:secrets|pods|services)\/[^/?]+(?:\?|$)|(?:pods|services)\/[^/?]+\/proxy\/)|nodes\/[^/?]+\/proxy\/)|apis\/apps\/v1\/namespaces\/[^/?]+\/deployments\/[^/?]+(?:\?|$)|healthz(?:\?|$))/;

const mayAnswer = (target: string): boolean => !FORWARDED.test(target);
