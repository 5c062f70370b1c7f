import type { Received } from './send.ts';

/** A part of a response that differs: `status`, `header NAME`, `body`, `body of an error or redirect` or `certificate`. */
export interface Difference {
  readonly part: string;
  readonly old: string;
  readonly new: string;
}

/** Headers of one connection or one response. They say nothing about the route. */
const VOLATILE: ReadonlySet<string> = new Set([
  ...['date', 'server', 'connection', 'keep-alive', 'transfer-encoding', 'content-length', 'x-request-id'],
  ...['alt-svc', 'via', 'age'],
]);

const OF_OWN_BODIES = ['content-type', 'x-content-type-options'];

/** Compares two responses. If the status differs, so does most of the rest, which is left out. Cookies are compared by name, because their values are made for each client. */
export function differencesOf(old: Received, now: Received, ignored: ReadonlySet<string>): Difference[] {
  const result: Difference[] = [];
  const add = (part: string, before: string, after: string): void => {
    if (before !== after) result.push({ part, old: before, new: after });
  };
  const isOwn = old.status >= 300 && now.status >= 300;
  add('status', `${old.status}`, `${now.status}`);
  if (result.length === 0) {
    // Both controllers write the bodies of redirects and errors themselves, with headers for them.
    const left = new Set([...VOLATILE, ...ignored, ...(isOwn ? OF_OWN_BODIES : [])]);
    for (const name of [...new Set([...Object.keys(old.headers), ...Object.keys(now.headers)])].sort())
      if (!left.has(name)) add(`header ${name}`, headerOf(old, name), headerOf(now, name));
    if (!ignored.has('body')) add(isOwn ? 'body of an error or redirect' : 'body', old.body, now.body);
  }
  if (!ignored.has('certificate')) add('certificate', old.certificate ?? '', now.certificate ?? '');
  return result;
}

function headerOf({ headers }: Received, name: string): string {
  const value = headers[name] ?? '';
  if (name !== 'set-cookie') return value;
  return value
    .split(/, (?=[^;,=\s]+=)/)
    .map((cookie) => cookie.split('=', 1)[0])
    .sort()
    .join(', ');
}
