import { Backend } from '../dataplane/support/backend.ts';
import { host, upstream } from '../dataplane/support/words.ts';
import { type MakeDriver, World } from '../dataplane/support/world.ts';
import {
  bytesOfRouterRequest,
  drawRouterRequest,
  FUZZ_HOST,
  type RouterRequest,
  smallerRouterRequests,
} from './router-grammar.ts';
import { type Reading, type RouterMeaning, readRequest } from './router-reference.ts';
import { exchange, type FuzzTarget, type Verdict } from './target.ts';

/** What an endpoint received. */
interface Received extends RouterMeaning {
  /** Problems with the headers that the router sets. */
  readonly forged: readonly string[];
}

/** Differences to the reference that a data plane cannot avoid. Each is described in docs/security.md. */
export interface Leniency {
  /** Whether the data plane may read these bytes although they are not strictly valid. */
  accepts(bytes: string): boolean;
}

/** A router with a data plane, before an endpoint that records every request with a header X-Fuzz. */
export async function startRouterTarget(
  name: string,
  make: MakeDriver,
  lenient: Leniency,
): Promise<FuzzTarget<RouterRequest>> {
  const world = await World.start(make);
  const log = new Map<string, Received[]>();
  const endpoint = await Backend.start('endpoint', {
    handle(request, response) {
      let length = 0;
      request.on('data', (chunk: Buffer) => {
        length += chunk.length;
      });
      request.on('end', () => {
        const received = receivedOf(request.method ?? '', request.url ?? '', request.rawHeaders, length);
        const id = String(request.headers['x-fuzz']);
        log.set(id, [...(log.get(id) ?? []), received]);
        response.end();
      });
      // The router ends the connection to the endpoint if the request turns out to be malformed.
      request.on('error', () => {});
    },
  });
  await world.change({
    hosts: [host(FUZZ_HOST, 'endpoint'), host('*.wild.io', 'endpoint')],
    upstreams: [upstream('endpoint', [endpoint.port])],
  });
  return {
    name,
    draw: drawRouterRequest,
    smaller: smallerRouterRequests,
    bytesOf: bytesOfRouterRequest,
    check: async (request): Promise<Verdict> => {
      const bytes = Buffer.concat([bytesOfRouterRequest(request), Buffer.from(lastRequest(request.id))]);
      const text = bytes.toString('latin1');
      const reading = readRequest(text);
      if (reading.kind === 'incomplete') return { plain: false, difference: undefined };
      const answer = await exchange(world.ports.http, bytes);
      const received = (id: string): readonly Received[] => log.get(id) ?? [];
      const difference =
        received(`hidden-${request.id}`).length > 0 && !isRevealed(reading)
          ? 'a request that was hidden in the body was executed'
          : differenceTo(reading, answer, {
              id: request.id,
              own: received(request.id),
              last: received(`last-${request.id}`),
              isLenient: lenient.accepts(text),
            });
      return { plain: reading.kind === 'plain', difference };
    },
    async stop() {
      await world.stop();
      await endpoint.stop();
    },
  };
}

/** Sent directly after each request: a router that has lost its place in the stream would execute something else. */
const lastRequest = (id: string): string =>
  `GET /last HTTP/1.1\r\nHost: ${FUZZ_HOST}\r\nX-Fuzz: last-${id}\r\nConnection: close\r\n\r\n`;

/** The request in the body is not hidden, because no length of a body was declared: it is simply the next one. */
const isRevealed = (reading: Reading): boolean =>
  'next' in reading && reading.next.startsWith('GET /hidden ');

interface Seen {
  readonly id: string;
  readonly own: readonly Received[];
  readonly last: readonly Received[];
  readonly isLenient: boolean;
}

function differenceTo(
  reading: Exclude<Reading, { kind: 'incomplete' }>,
  answer: string,
  { id, own, last, isLenient }: Seen,
): string | undefined {
  const forged = [...own, ...last].flatMap((each) => each.forged);
  if (forged.length > 0) return `headers that the router sets were forged: ${forged.join(', ')}`;
  if (own.length > 1 || last.length > 1)
    return `forwarded ${own.length} times, the next ${last.length} times`;
  if (reading.kind === 'refused') {
    if (own.length === 0 || isLenient) return undefined;
    return `an ambiguous request was forwarded as ${JSON.stringify(own)}`;
  }
  const { meaning, next, kind } = reading;
  const isRouted = /^(?:fuzz|[a-z0-9-]+\.wild)\.io\.?(?::\d*)?$/i.test(meaning.host);
  if (own.length === 0)
    return kind === 'plain' && isRouted
      ? `a plain request was answered with ${answer.slice(0, 200)}`
      : undefined;
  const { forged: _, ...actual } = own[0]!;
  if (!isRouted) return `a request for an unknown host was forwarded as ${JSON.stringify(actual)}`;
  if (JSON.stringify(actual) !== JSON.stringify(meaning))
    return `forwarded as ${JSON.stringify(actual)}, expected ${JSON.stringify(meaning)}`;
  const isNext = last.length === 1 || next !== lastRequest(id);
  if (kind === 'plain' && !isNext)
    return `the next request on the connection was not served: ${answer.slice(-200)}`;
  return undefined;
}

/** Headers that the endpoint gets from the router, or that belong to the connection between both. */
const FROM_ROUTER: Readonly<Record<string, RegExp>> = {
  'x-real-ip': /^127\.0\.0\.1$/,
  'x-forwarded-for': /^127\.0\.0\.1$/,
  'x-forwarded-proto': /^http$/,
  'x-forwarded-port': /^\d+$/,
  'x-forwarded-host': /./,
  'x-request-id': /^[A-Za-z0-9_-]{1,64}$/,
  host: /./,
};
const OF_CONNECTION = ['connection', 'content-length', 'transfer-encoding'];

function receivedOf(method: string, target: string, raw: readonly string[], length: number): Received {
  const pairs = Array.from({ length: raw.length / 2 }, (_, at) => [
    raw[2 * at]!.toLowerCase(),
    raw[2 * at + 1]!,
  ]) as [string, string][];
  const own = pairs.filter(([name]) => name in FROM_ROUTER);
  const host = pairs.find(([name]) => name === 'host')?.[1] ?? '';
  const isForged = ([name, value]: [string, string]): boolean =>
    !FROM_ROUTER[name]!.test(value) ||
    own.filter(([other]) => other === name).length > 1 ||
    (name === 'x-forwarded-host' && value !== host);
  return {
    method,
    target,
    host,
    headers: pairs
      .filter(([name]) => !(name in FROM_ROUTER) && !OF_CONNECTION.includes(name))
      .map(([name, value]) => `${name}: ${value}`)
      .sort(),
    length,
    // CGI and WSGI take these for each other.
    forged: [
      ...own.filter(isForged),
      ...pairs.filter(
        ([name]) => !(name in FROM_ROUTER) && name.replaceAll(/[^a-z0-9]/g, '-') in FROM_ROUTER,
      ),
    ].map(([name, value]) => `${name}: ${value}`),
  };
}
