import type { Chance } from '../support/random.ts';

/** A request to a router: the pieces that its bytes consist of. `reference` reads the bytes, not the pieces. */
export interface RouterRequest {
  readonly id: string;
  readonly pieces: readonly string[];
}

/** The host with routes, and others. */
export const FUZZ_HOST = 'fuzz.io';
const HOSTS = [
  ...[
    FUZZ_HOST,
    FUZZ_HOST,
    FUZZ_HOST,
    FUZZ_HOST,
    'FUZZ.io',
    'fuzz.io:80',
    'fuzz.io.',
    'a.wild.io',
    'other.io',
  ],
  ...[
    'fuzz.io:x',
    'fuzz..io',
    'fuzz.io@other.io',
    'fuzz.io/a',
    'fuzz.io,other.io',
    '',
    'fuzz.io other.io',
    '*.wild.io',
  ],
];
const METHODS = [
  'GET',
  'GET',
  'GET',
  'POST',
  'PUT',
  'DELETE',
  'OPTIONS',
  'HEAD',
  'FROB',
  'get',
  'TRACE',
  'GET\x00',
];
const SEGMENTS = [
  ...[
    'a',
    'b',
    'a.b',
    'a;b',
    '%41',
    '%2F',
    '%2f',
    '..',
    '.',
    '',
    '%2e%2e',
    '.%2E',
    '..;',
    '%5c',
    '\\',
    '%00',
    '%',
  ],
  ...['%zz', '#', '\xe9', '"', '<', '|', '^', '%25', '*', ':', '@', '\x01', '\x7f', '\t', '{}', '$', '~'],
];
const QUERIES = ['', '', '', '?', '?a=b', '?a=/../b', '?a=%zz', '?a#b', '?a=\xe9', '?a?b', '?"', '?[a]'];
const FORMS = ['http://fuzz.io', 'http://other.io', 'https://fuzz.io', '//other.io', 'fuzz.io', '*'];
const VERSIONS = ['HTTP/1.0', 'HTTP/1.2', 'HTTP/0.9', 'HTTP/2.0', 'http/1.1', 'HTTP/1.1 ', 'HTTP/01.1', ''];
const LINE_ENDS = ['\n', '\n', '\r', '\r\r\n', '\n\n', '\n\r\n', '\r\n ', '  \n', '\x00\r\n', '\x0b\r\n'];

/** Headers with which a client claims to be another one, or that the router must not forward as they are. */
const CLAIMS = [
  ...[
    'X-Forwarded-For: 6.6.6.6',
    'X_Forwarded_For: 6.6.6.6',
    'X.Forwarded.For: 6.6.6.6',
    'X-Real-IP: 6.6.6.6',
  ],
  ...[
    'X_Real_IP: 6.6.6.6',
    'x-forwarded-proto: https',
    'X_Forwarded_Proto: https',
    'X-Forwarded-Host: other.io',
  ],
  ...['X-Forwarded-Prefix: /6', 'X-ORIGINAL-URL: /admin', 'True-Client-IP: 6.6.6.6', 'x-scheme: https'],
  ...['Forwarded: for=6.6.6.6', 'Proxy: http://6.6.6.6', 'X-Request-Id: mine', 'X_Request_Id: mine'],
  ...[
    'Authorization: Bearer a',
    'Authorization : Bearer a',
    'authorization:Bearer a',
    'X-User: admin',
    'X_User: root',
  ],
  ...['Connection: keep-alive', 'Connection: X-User, Authorization', 'Connection: Host', 'Connection: close'],
  ...[
    'Connection: Content-Length',
    'Connection: Upgrade, HTTP2-Settings',
    'Upgrade: h2c',
    'HTTP2-Settings: AAMA',
  ],
  ...[
    'TE: trailers',
    'Trailer: X-User',
    'Expect: 100-continue',
    'Expect: x',
    'Keep-Alive: 1',
    'Host: other.io',
  ],
  ...[
    'Host: fuzz.io',
    'Proxy-Connection: close',
    'X-Empty:',
    'X-Tab:\ta\tb',
    'X-Space: a ',
    'NoColon',
    ': empty',
    ' X-Fold: a',
  ],
  ...[
    'X-Latin: \xe9',
    'X-Control: a\x01b',
    'X-Del: a\x7f',
    'X-Nul: a\x00b',
    '"X-Quote": a',
    'X(): a',
    'X-\xe9: a',
  ],
];

/** Draws a plain request with a few hostile changes: most requests with many are refused for one of them. */
export function drawRouterRequest(chance: Chance, id: string): RouterRequest {
  const { headers, body } = chance.percent(50) ? drawBody(chance, id) : { headers: [], body: '' };
  const lines = [
    drawFirstLine(chance),
    `Host: ${chance.percent(25) ? chance.of(HOSTS) : FUZZ_HOST}`,
    `X-Fuzz: ${id}`,
    ...chance.some(CLAIMS, chance.percent(50) ? 3 : 0),
    ...headers,
    '',
  ];
  const ends = lines.map(() => (chance.percent(2) ? chance.of(LINE_ENDS) : '\r\n'));
  return { id, pieces: [...lines.map((line, at) => `${line}${ends[at]}`), body] };
}

export const bytesOfRouterRequest = ({ pieces }: RouterRequest): Buffer =>
  Buffer.from(pieces.join(''), 'latin1');

/** Without one of the pieces, or with half of one; with another ID. */
export function smallerRouterRequests(request: RouterRequest, id: () => string): RouterRequest[] {
  const without = (change: (pieces: readonly string[]) => readonly string[]): RouterRequest => {
    const next = id();
    return { id: next, pieces: change(request.pieces).map((piece) => piece.replaceAll(request.id, next)) };
  };
  const { pieces } = request;
  // Without the ID, the server behind could not recognize the request.
  return [
    ...pieces.flatMap((piece, at) =>
      piece.startsWith('X-Fuzz') ? [] : [without((all) => all.filter((_, index) => index !== at))],
    ),
    ...pieces.flatMap((piece, at) =>
      piece.length > 8 && !piece.includes(request.id)
        ? [without((all) => all.with(at, piece.slice(0, piece.length >> 1)))]
        : [],
    ),
  ];
}

function drawFirstLine(chance: Chance): string {
  const parts = Array.from({ length: chance.integer(4) }, () =>
    chance.percent(85) ? chance.of(['a', 'b', 'c.d', '%41']) : chance.of(SEGMENTS),
  );
  const form = chance.percent(4) ? chance.of(FORMS) : '';
  const method = chance.percent(20) ? chance.of(METHODS) : 'GET';
  const space = (): string => (chance.percent(2) ? chance.of(['  ', '\t', '\x0b', '']) : ' ');
  const version = chance.percent(4) ? chance.of(VERSIONS) : 'HTTP/1.1';
  return `${method}${space()}${form}/${parts.join('/')}${chance.of(QUERIES)}${space()}${version}`;
}

/** A body that hides another request. Its length is declared once, twice, in two ways or wrongly. */
function drawBody(chance: Chance, id: string): { headers: string[]; body: string } {
  const hidden = `GET /hidden HTTP/1.1\r\nHost: fuzz.io\r\nX-Fuzz: hidden-${id}\r\n\r\n`;
  const size = hidden.length;
  const eol = (): string => (chance.percent(4) ? chance.of(LINE_ENDS) : '\r\n');
  const first = chance.percent(85) ? size.toString(16) : chance.of(sizesFor(size));
  const trailer = chance.percent(15) ? chance.of(TRAILERS) : '';
  const chunks = `${first}${eol()}${hidden}${eol()}0${eol()}${trailer}${eol()}`;
  const length = `Content-Length: ${size}`;
  const chunked = 'Transfer-Encoding: chunked';
  const withLength = (...headers: string[]) => ({ headers, body: hidden });
  const withChunks = (...headers: string[]) => ({ headers, body: chunks });
  return chance.of([
    ...Array.from({ length: 8 }, () => withLength(length)),
    ...Array.from({ length: 8 }, () => withChunks(chunked)),
    withChunks(length, chunked),
    withChunks(chunked, 'Content-Length: 0'),
    withChunks(chunked, chunked),
    withChunks('Transfer-Encoding: Chunked'),
    withChunks('Transfer-Encoding: chunked, identity'),
    withChunks('Transfer-Encoding: identity, chunked'),
    withChunks('Transfer-Encoding: xchunked'),
    withChunks('Transfer-Encoding:\x0bchunked'),
    withChunks('Transfer-Encoding: "chunked"'),
    withLength('Transfer_Encoding: chunked', length),
    withLength('Transfer-Encoding : chunked', length),
    withLength(length, 'Content_Length: 0'),
    withLength(length, 'Content-Length: 0'),
    withLength(length, length),
    withLength(`Content-Length: +${size}`),
    withLength(`Content-Length: 0${size}`),
    withLength(`Content-Length: ${size}, ${size}`),
    withLength(`Content-Length: ${size}.0`),
    withLength(`Content-Length:\x0b${size}`),
    withLength('Content-Length: -1'),
    withLength('Content-Length:'),
  ]);
}

const sizesFor = (size: number): string[] => {
  const hex = size.toString(16);
  return [
    `0${hex}`,
    `${hex};a=b`,
    `${hex};a="b"`,
    `${hex} `,
    ` ${hex}`,
    `0x${hex}`,
    `+${hex}`,
    `${hex};a\n`,
    `${hex}\t`,
  ];
};

const TRAILERS = [
  ...[
    'X-User: admin\r\n',
    'X-Forwarded-For: 6.6.6.6\r\n',
    'Content-Length: 5\r\n',
    'NoColon\r\n',
    'X-A: b\n',
  ],
  ...['Transfer-Encoding: chunked\r\n', 'Host: other.io\r\n'],
];
