import type { PolicyReader } from './annotation-reader.ts';
import { KEY_VARIABLES, type KeyTemplate, parseKey } from './hashing.ts';

/** Answers about requests with the same key are kept for some time. */
export interface AuthCache {
  readonly key: KeyTemplate;
  /** By status: for how many seconds. `any`: for all others. */
  readonly seconds: Readonly<Record<string, number>>;
}

const DEFAULT_DURATION = '200 202 401 5m';
const UNITS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3_600, d: 86_400 };
export const MOST_KEPT_SECONDS = 7 * 86_400;
/** The statuses of a duration without any, as in nginx. */
const USUAL = ['200', '301', '302'];
const MOST_CHARACTERS = 500;

export function readAuthCache(reader: PolicyReader): AuthCache | undefined {
  const text = reader.text('auth-cache-key') ?? '';
  const seconds = readSeconds(reader);
  if (text === '') return undefined;
  // The name of a user proves nothing without the password.
  const proven = text.replace(/\$(?:remote_user(?![A-Za-z0-9_])|\{remote_user\})/g, '$$http_authorization');
  const key = text.length > MOST_CHARACTERS ? undefined : parseKey(proven);
  if (key === undefined) reader.invalid('auth-cache-key', text, `a text with some of ${KEY_VARIABLES}`);
  return key && { key, seconds };
}

/** For example `200 202 401 10m, 403 1m`. The first entry of a status wins, as in nginx. */
function readSeconds(reader: PolicyReader): Record<string, number> {
  const result: Record<string, number> = {};
  for (const entry of (reader.text('auth-cache-duration') || DEFAULT_DURATION).split(',')) {
    const [, statuses = '', digits, unit = ''] =
      /^((?:(?:[1-5][0-9]{2}|any) +)*)([0-9]{1,7})([smhd]?)$/.exec(entry.trim()) ?? [];
    const seconds = Number(digits) * (UNITS[unit] ?? Number.NaN);
    if (!(seconds <= MOST_KEPT_SECONDS)) {
      reader.invalid(
        'auth-cache-duration',
        entry,
        'statuses and a duration of at most 7d, for example 200 202 401 5m, separated by commas',
      );
      return result;
    }
    const named = statuses.split(' ').filter((each) => each !== '');
    for (const status of named.length === 0 ? USUAL : named) result[status] ??= seconds;
  }
  return result;
}

/** What the cache needs to know about an answer. Names of headers are in lower case. */
export interface CachedFacts {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
}

/**
 * For how many seconds an answer is kept; 0: not at all. As in nginx, headers of the server come first, and an answer that sets a
 * cookie is not kept. One with Expires or Vary is not kept either. `external_auth.lua` is the same for nginx.
 */
export function keptSeconds({ seconds }: AuthCache, { status, header }: CachedFacts): number {
  if (['set-cookie', 'expires', 'vary'].some((name) => header(name) !== undefined)) return 0;
  const control = (header('cache-control') ?? '').toLowerCase();
  if (/no-cache|no-store|private/.test(control)) return 0;
  const [, age] = /max-age=([0-9]{1,7})/.exec(control) ?? [];
  return age === undefined ? (seconds[status] ?? seconds.any ?? 0) : Math.min(Number(age), MOST_KEPT_SECONDS);
}
