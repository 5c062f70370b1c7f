import type { Chance } from '../support/random.ts';

/** A request as bytes, and the parts that it was made of. */
export interface HostileRequest {
  readonly id: string;
  readonly method: string;
  readonly target: string;
  /** In order, as they are sent. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** What follows the empty line. */
  readonly body: string;
}

const SEGMENTS = [
  'api',
  'apis',
  'v1',
  'namespaces',
  'default',
  'secrets',
  'pods',
  'services',
  'nodes',
  'web',
  'proxy',
];
const HOSTILE = [
  '..',
  '.',
  '',
  '%2e%2e',
  '.%2E',
  '%2f',
  'a%2Fb',
  '%5c',
  '\\',
  ';',
  'a;b',
  '..;',
  '#',
  '%',
  '%zz',
  '%25',
  '%252e',
  '%00',
  '%0a',
  '%ff',
  '\xe9',
  '*',
  ':',
  '@',
  '%77eb',
];
const PATHS = [
  '/api/v1/namespaces/default/secrets/web',
  '/api/v1/namespaces/default/services/web:80/proxy/a/b',
  '/api/v1/namespaces/default/pods/web/proxy/',
  '/api/v1/nodes/edge-1/proxy/metrics',
  '/apis/apps/v1/namespaces/default/deployments/web',
  '/healthz',
];
const QUERIES = [
  '',
  '',
  '?',
  '?a=b',
  '?watch=1&watch=0',
  '?a=%zz',
  '?a;b',
  '?a=#',
  '?a=\\',
  '?a=%ff',
  '?a=b?c=d',
  '?a=\xe9',
  '?a=[b]',
];
const PREFIXES = [
  'http://127.0.0.1',
  'https://evil.example.com',
  '//evil.example.com',
  'evil.example.com:443',
  '*',
  '\\',
];

/** Draws a request: usually a plain one with one or two hostile changes, because most requests with many are refused. */
export function drawRequest(chance: Chance, id: string, tokens: readonly string[]): HostileRequest {
  const target = drawTarget(chance);
  const { headers, body } = drawFraming(chance, id);
  const method = chance.of(['GET', 'GET', 'DELETE', 'POST', 'PUT', 'OPTIONS']);
  return {
    id,
    method,
    target,
    headers: [['Host', 'hub'], ['X-Fuzz', id], ...drawIdentity(chance, tokens), ...headers],
    body,
  };
}

/** The bytes on the wire. Characters are bytes (latin1), so that a target can contain any of them. */
export function bytesOf({ method, target, headers, body }: HostileRequest): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines}\r\n${body}`, 'latin1');
}

/** The same request with another ID and without one part. */
export function smallerRequests(request: HostileRequest, id: () => string): HostileRequest[] {
  const { headers, target } = request;
  const named = (): HostileRequest => {
    const next = id();
    const texts = ([name, value]: readonly [string, string]): readonly [string, string] =>
      name === 'X-Fuzz' ? [name, next] : [name, value];
    return { ...request, id: next, headers: headers.map(texts) };
  };
  const parts = target.split('/');
  return [
    ...headers.flatMap(([name], at) =>
      ['Host', 'X-Fuzz', 'Content-Length', 'Transfer-Encoding'].includes(name)
        ? []
        : [{ ...named(), headers: named().headers.filter((_, index) => index !== at) }],
    ),
    ...parts.map((_, at) => ({ ...named(), target: parts.filter((__, index) => index !== at).join('/') })),
  ];
}

function drawTarget(chance: Chance): string {
  const parts = chance.percent(70)
    ? chance.of(PATHS).slice(1).split('/')
    : Array.from({ length: chance.integer(8) }, () => chance.of(SEGMENTS));
  for (let i = chance.integer(3); i > 0; i--)
    parts.splice(chance.integer(parts.length + 1), chance.integer(2), chance.of(HOSTILE));
  const prefix = chance.percent(8) ? chance.of(PREFIXES) : '';
  return `${prefix}/${parts.join('/')}${chance.of(QUERIES)}`;
}

/** Credentials, and headers with which a client claims to be another one. */
function drawIdentity(chance: Chance, tokens: readonly string[]): [string, string][] {
  const claims: [string, string][] = [
    ['X-Remote-User', 'system:admin'],
    ['X-Remote-Group', 'system:masters'],
    ['X-Forwarded-For', '127.0.0.1'],
    ['Forwarded', 'for=127.0.0.1'],
    ['Connection', 'Authorization'],
    ['Proxy-Authorization', 'Basic YTpi'],
  ];
  const token = chance.percent(60) ? chance.of(tokens) : undefined;
  const scheme = chance.of(['Bearer', 'bearer', 'BEARER']);
  return [
    ...(token === undefined ? [] : [['Authorization', `${scheme} ${token}`] as [string, string]]),
    ...chance.some(claims, 15),
  ];
}

/** The length of the body, declared once, twice, in two ways or wrongly; the body hides another request. */
function drawFraming(chance: Chance, id: string): { headers: [string, string][]; body: string } {
  if (chance.percent(50)) return { headers: [], body: '' };
  const hidden = `GET /api/v1/namespaces/default/secrets HTTP/1.1\r\nHost: hub\r\nX-Fuzz: hidden-${id}\r\n\r\n`;
  const length: [string, string] = ['Content-Length', String(hidden.length)];
  const chunks = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`;
  const chunked: [string, string] = ['Transfer-Encoding', 'chunked'];
  return chance.of<() => { headers: [string, string][]; body: string }>([
    () => ({ headers: [length], body: hidden }),
    () => ({ headers: [chunked], body: chunks }),
    () => ({ headers: [length, chunked], body: chunks }),
    () => ({ headers: [['Content-Length', '0'], chunked], body: chunks }),
    () => ({ headers: [length, ['Content-Length', '0']], body: hidden }),
    () => ({ headers: [['Content-Length', `+${hidden.length}`]], body: hidden }),
    () => ({ headers: [['Content-Length', '0x10']], body: hidden }),
    () => ({ headers: [['Content-Length', `${hidden.length}, ${hidden.length}`]], body: hidden }),
    () => ({ headers: [['Transfer-Encoding', 'chunked, identity']], body: chunks }),
    () => ({ headers: [['Transfer-Encoding', 'xchunked']], body: chunks }),
    () => ({ headers: [['Transfer_Encoding', 'chunked'], length], body: hidden }),
    () => ({ headers: [['Transfer-Encoding ', 'chunked'], length], body: hidden }),
  ])();
}
