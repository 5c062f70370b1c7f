import type { HostileRequest } from './grammar.ts';

/** What a request means, as the server behind the tested component must receive it. */
export interface Meaning {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** The value of the Authorization header; undefined without one. */
  readonly authorization: string | undefined;
  /** The number of bytes in the body. */
  readonly length: number;
}

/**
 * A strict reference, written independently of the code under test: it compares with a list of what is allowed. Returns
 * undefined for everything that two parsers could understand differently. Such a request must not reach any server.
 */
export function meaningOf(request: HostileRequest): Meaning | undefined {
  const length = lengthOf(request);
  if (length === undefined || !isPlainTarget(request.target)) return undefined;
  const credentials = request.headers.filter(([name]) => name === 'Authorization').map(([, value]) => value);
  const authorization = credentials[0]?.replace(/^bearer/i, 'Bearer');
  return { method: request.method, target: canonical(request.target), authorization, length };
}

/** A body has one length, declared in one way. */
function lengthOf({ headers, body }: HostileRequest): number | undefined {
  const framing = headers.filter(([name]) => /^(content-length|transfer-encoding)\s*$/i.test(name));
  if (framing.length === 0) return 0;
  const [[name, value] = ['', '']] = framing;
  if (framing.length > 1 || name.endsWith(' ')) return undefined;
  if (name === 'Content-Length')
    return /^\d+$/.test(value) && Number(value) === body.length ? body.length : undefined;
  const [size = '', rest = ''] = body.split(/\r\n(.*)/s);
  return value === 'chunked' && rest.length > 0 ? Number.parseInt(size, 16) : undefined;
}

const OWN = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9:@._~*-]+)+\/?$/;
const FOREIGN =
  /^\/api\/v1\/(?:namespaces\/(?!\.{1,2}\/)[A-Za-z0-9:@._~*-]+\/(?:pods|services)|nodes)\/(?!\.{1,2}\/)[A-Za-z0-9:@._~*-]+\/proxy((?:\/.*)?)$/s;

function isPlainTarget(target: string): boolean {
  const [path = '', query] = split(target);
  if (query !== undefined && !/^[A-Za-z0-9=&?[\].:_-]*$/.test(query))
    return isProxied(path) && /^(?:[A-Za-z0-9=&?;[\].:_-]|%[0-9a-f]{2})*$/i.test(query);
  if (isProxied(path)) return true;
  return (
    (OWN.test(decoded(path)) || path === '/') &&
    !/%(?:2[ef5]|5c|00|0a|ff)|watch=.*watch=/i.test(path + (query ?? ''))
  );
}

/** Behind a proxy, everything is allowed that no server can take for a way upwards. */
function isProxied(path: string): boolean {
  const [, foreign] = FOREIGN.exec(ownDecoded(path)) ?? [];
  if (foreign === undefined || !/^(?:[A-Za-z0-9:@._~/;*-]|%[0-9a-fA-F]{2})*$/.test(foreign)) return false;
  return !/(?:^|\/)\.{1,2}(?:;|\/|$)/.test(foreign.replaceAll(/%2e/gi, '.').replaceAll(/%2f|%5c/gi, '/'));
}

const decoded = (path: string): string => path.replaceAll('%77', 'w');
/** Decodes what belongs to the API server. What is behind a proxy stays as it is. */
function ownDecoded(target: string): string {
  const at = target.indexOf('/proxy');
  return at < 0 ? decoded(target) : decoded(target.slice(0, at)) + target.slice(at);
}
const canonical = (target: string): string =>
  FOREIGN.test(ownDecoded(split(target)[0] ?? '')) ? ownDecoded(target) : decoded(target);
const split = (target: string): string[] => {
  const mark = target.indexOf('?');
  return mark < 0 ? [target] : [target.slice(0, mark), target.slice(mark + 1)];
};
