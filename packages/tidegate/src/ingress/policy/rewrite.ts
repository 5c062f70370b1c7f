import { groupOf, type Pattern, runPattern } from '../regex/index.ts';
import type { PolicyReader } from './annotation-reader.ts';

/** Texts, and numbers of groups of the regular expression of the route. */
export type GroupTemplate = readonly (string | number)[];

/** Another path for the backend. Only routes with a regular expression have it. */
export interface Rewrite {
  readonly target: GroupTemplate;
  /** The value of the header X-Forwarded-Prefix. */
  readonly prefix?: GroupTemplate;
}

const MOST_CHARACTERS = 1_000;

export function readRewrite(reader: PolicyReader): { rewrite: Rewrite; written: string } | undefined {
  const written = reader.text('rewrite-target');
  const target = readTemplate(reader, 'rewrite-target', /^[/$]/);
  const prefix = readTemplate(reader, 'x-forwarded-prefix', /^/);
  if (written === undefined || written === '' || target === undefined) return undefined;
  return { written, rewrite: { target, ...(prefix !== undefined && prefix.length > 0 && { prefix }) } };
}

/** The host that endpoints get in place of the host that the client has sent. */
export function readVhost(reader: PolicyReader): string | undefined {
  const text = reader.text('upstream-vhost') ?? '';
  if (text === '') return undefined;
  if (text.length <= 253 && VHOST.test(text)) return text;
  reader.invalid(
    'upstream-vhost',
    text,
    'a host name, with a port if it is needed; variables are not supported',
  );
  return undefined;
}

const VHOST = /^[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*(?::[0-9]{1,5})?$/;

const PART = /\$([1-9])|\$\{([1-9])\}|([A-Za-z0-9\-._~:/?&=%@!,;'()*+]+)/y;

function readTemplate(reader: PolicyReader, name: string, beginning: RegExp): GroupTemplate | undefined {
  const text = reader.text(name);
  if (text === undefined) return undefined;
  const parts: (string | number)[] = [];
  PART.lastIndex = 0;
  const isLong = text.length > MOST_CHARACTERS;
  while (PART.lastIndex < text.length) {
    const found = isLong || !(text === '' || beginning.test(text)) ? null : PART.exec(text);
    if (found === null) {
      reader.invalid(name, text, 'a path that starts with a slash, with $1 to $9 for groups of the path');
      return undefined;
    }
    const [, bare, braced, literal] = found;
    parts.push(literal ?? Number(bare ?? braced));
  }
  return parts;
}

/** The groups that the rewrite needs. */
export const groupsOf = ({ target, prefix = [] }: Rewrite): Set<number> =>
  new Set([...target, ...prefix].filter((part): part is number => typeof part === 'number'));

/** Path and query for the backend, and the prefix. `matched` is the path that the pattern matches. */
export function rewritten(
  { target, prefix }: Rewrite,
  pattern: Pattern,
  { matched, query, encode }: { matched: string; query: string; encode: (text: string) => string },
): { target: string; prefix: string | undefined } {
  const slots = runPattern(pattern, matched) ?? [];
  const fill = (parts: GroupTemplate): string =>
    parts.map((part) => (typeof part === 'string' ? part : encode(groupOf(slots, part, matched)))).join('');
  const filled = fill(target);
  const path = filled.startsWith('/') ? filled : `/${filled}`;
  return { target: withQuery(path, query), prefix: prefix && fill(prefix) };
}

/** As in nginx, the query of the client follows the query of the target, unless the target ends with a question mark. */
function withQuery(path: string, query: string): string {
  if (path.endsWith('?')) return path.slice(0, -1);
  return query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`;
}
