import type { PolicyReader } from './annotation-reader.ts';

/** Which other sites may use a route from a browser (CORS). */
export interface Cors {
  /** In lower case. Texts before and after a place for one label of a host. Absent: all origins. */
  readonly origins?: readonly (readonly [string, string?])[];
  /** Headers of responses to these origins, besides Access-Control-Allow-Origin. */
  readonly headers: Readonly<Record<string, string>>;
}

const DEFAULTS = {
  methods: 'GET, PUT, POST, DELETE, PATCH, OPTIONS',
  headers:
    'DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization',
  maxAge: '1728000',
};

/** The same defaults as in ingress-nginx. Undefined if it is not enabled. */
export function readCors(reader: PolicyReader): Cors | undefined {
  if (!reader.flag('enable-cors')) return undefined;
  const origins = readOrigins(reader);
  const expose = readTokens(reader, 'cors-expose-headers', '');
  const allowsCredentials = !reader.has('cors-allow-credentials') || reader.flag('cors-allow-credentials');
  return {
    ...(origins && { origins }),
    headers: {
      ...(allowsCredentials && { 'Access-Control-Allow-Credentials': 'true' }),
      'Access-Control-Allow-Methods': readTokens(reader, 'cors-allow-methods', DEFAULTS.methods),
      'Access-Control-Allow-Headers': readTokens(reader, 'cors-allow-headers', DEFAULTS.headers),
      ...(expose !== '' && { 'Access-Control-Expose-Headers': expose }),
      'Access-Control-Max-Age': readMaxAge(reader),
    },
  };
}

const MOST_ORIGINS = 100;
const ORIGIN =
  /^[a-z][a-z0-9+.-]{0,30}:\/\/(?:\*\.)?[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*(?::[0-9]{1,5})?$/;

function readOrigins(reader: PolicyReader): Cors['origins'] {
  const entries = (reader.text('cors-allow-origin') ?? '*')
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== '');
  if (entries.includes('*')) return undefined;
  const wrong = entries.find((entry) => !ORIGIN.test(entry));
  if (wrong !== undefined || entries.length === 0 || entries.length > MOST_ORIGINS)
    reader.invalid(
      'cors-allow-origin',
      wrong ?? `${entries.length} origins`,
      `* or up to ${MOST_ORIGINS} comma-separated origins, for example https://shop.example.com or https://*.example.com:8443`,
    );
  return entries.map((entry): readonly [string, string?] => {
    const [before = '', after] = entry.split('*');
    return after === undefined ? [before] : [before, after];
  });
}

const MOST_CHARACTERS = 2_000;

function readTokens(reader: PolicyReader, name: string, absent: string): string {
  const text = reader.text(name) ?? absent;
  if (text === '') return absent;
  if (text.length <= MOST_CHARACTERS && /^[A-Za-z0-9_*-]+(?: *, *[A-Za-z0-9_*-]+)* *,?$/.test(text))
    return text;
  reader.invalid(name, text, 'comma-separated names of letters, digits, hyphens and underscores, or *');
  return absent;
}

function readMaxAge(reader: PolicyReader): string {
  const text = reader.text('cors-max-age') ?? '';
  if (text === '') return DEFAULTS.maxAge;
  if (/^(?:0|[1-9][0-9]{0,8})$/.test(text)) return text;
  reader.invalid('cors-max-age', text, 'a number of seconds');
  return DEFAULTS.maxAge;
}

/** The value of Access-Control-Allow-Origin; undefined if the origin may not use the route. */
export function allowedOrigin({ origins }: Cors, origin: string | undefined): string | undefined {
  if (origins === undefined) return '*';
  if (origin === undefined) return undefined;
  const text = origin.toLowerCase();
  return origins.some((pattern) => matches(pattern, text)) ? origin : undefined;
}

function matches([before, after]: readonly [string, string?], origin: string): boolean {
  if (after === undefined) return origin === before;
  const length = origin.length - before.length - after.length;
  return (
    length > 0 &&
    origin.startsWith(before) &&
    origin.endsWith(after) &&
    /^[a-z0-9-]+$/.test(origin.slice(before.length, before.length + length))
  );
}
