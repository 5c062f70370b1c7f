import {
  compilePattern,
  MAX_STEPS,
  OutOfSteps,
  type Pattern,
  PatternError,
  runPattern,
} from '../regex/index.ts';
import type { PolicyReader } from './annotation-reader.ts';

/** Which requests of a route go to another backend. The header decides first, then the cookie, then the weight. */
export interface Canary {
  readonly header?: CanaryHeader;
  /** A cookie with this name and the value `always` or `never` decides. */
  readonly cookie?: string;
  /** So many of `total` requests. */
  readonly weight: number;
  readonly total: number;
}

export interface CanaryHeader {
  /** In lower case. */
  readonly name: string;
  /** The request goes to the canary if the header has this value. Without value and pattern, `always` and `never` decide. */
  readonly value?: string;
  /** Likewise, if the header matches. */
  readonly pattern?: Pattern;
}

/** Annotations of this file. With an invalid value, the canary gets no requests. */
export const CANARY_NAMES = [
  ...['canary', 'canary-by-header', 'canary-by-header-value', 'canary-by-header-pattern'],
  ...['canary-by-cookie', 'canary-weight', 'canary-weight-total'],
];

const DEFAULT_TOTAL = 100;
const MOST_WEIGHT = 1_000_000;

/** Undefined if the Ingress is not a canary. */
export function readCanary(reader: PolicyReader): Canary | undefined {
  const isCanary = reader.flag('canary');
  const header = readHeader(reader);
  const cookie = readName(reader, 'canary-by-cookie');
  const weight = readCount(reader, 'canary-weight') ?? 0;
  const total = readCount(reader, 'canary-weight-total') || DEFAULT_TOTAL;
  if (!isCanary) return undefined;
  return { ...(header && { header }), ...(cookie !== undefined && { cookie }), weight, total };
}

function readHeader(reader: PolicyReader): CanaryHeader | undefined {
  const name = readName(reader, 'canary-by-header')?.toLowerCase();
  const value = reader.text('canary-by-header-value') ?? '';
  const text = reader.text('canary-by-header-pattern') ?? '';
  if (value.length > MOST_CHARACTERS || !PRINTABLE.test(value))
    reader.invalid('canary-by-header-value', value, `at most ${MOST_CHARACTERS} printable ASCII characters`);
  const pattern = text === '' ? undefined : readPattern(reader, text);
  if (name === undefined) return undefined;
  // As in ingress-nginx, the value wins.
  if (value !== '') return { name, value };
  return { name, ...(pattern && { pattern }) };
}

const MOST_CHARACTERS = 1_000;
const PRINTABLE = /^[\x20-\x7e]*$/;

function readPattern(reader: PolicyReader, text: string): Pattern | undefined {
  try {
    return compilePattern(text, undefined, '', false);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    reader.invalid('canary-by-header-pattern', text, `a regular expression: ${error.message}`);
    return undefined;
  }
}

/** The name of a header or of a cookie. */
function readName(reader: PolicyReader, name: string): string | undefined {
  const text = reader.text(name) ?? '';
  if (text === '') return undefined;
  if (/^[A-Za-z0-9_-]{1,100}$/.test(text)) return text;
  reader.invalid(name, text, 'a name with letters, digits, hyphens and underscores');
  return undefined;
}

function readCount(reader: PolicyReader, name: string): number | undefined {
  const text = reader.text(name) ?? '';
  if (text === '') return undefined;
  if (/^[0-9]{1,7}$/.test(text) && Number(text) <= MOST_WEIGHT) return Number(text);
  reader.invalid(name, text, `a number from 0 to ${MOST_WEIGHT}`);
  return undefined;
}

/** What the choice depends on. `random` is at least 0 and less than 1. */
export interface CanaryFacts {
  readonly header: string | undefined;
  readonly cookies: string | undefined;
  readonly random: number;
}

/** Whether the request goes to the canary. `canary.lua` is the same for nginx. */
export function isForCanary({ header, cookie, weight, total }: Canary, facts: CanaryFacts): boolean {
  const byHeader = header && facts.header !== undefined ? headerSays(header, facts.header) : undefined;
  const byCookie = (): boolean | undefined =>
    cookie === undefined ? undefined : WORDS.get(cookieOf(facts.cookies, cookie) ?? '');
  return byHeader ?? byCookie() ?? facts.random * total < weight;
}

const WORDS: ReadonlyMap<string, boolean> = new Map([
  ['always', true],
  ['never', false],
]);

/** Undefined if the header decides nothing. */
function headerSays({ value, pattern }: CanaryHeader, sent: string): boolean | undefined {
  if (value !== undefined) return sent === value ? true : undefined;
  if (pattern === undefined) return WORDS.get(sent);
  try {
    return runPattern(pattern, sent, { left: MAX_STEPS }) === undefined ? undefined : true;
  } catch (error) {
    if (error instanceof OutOfSteps) return undefined;
    throw error;
  }
}

/** The value of the first cookie with this name. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const part of header?.split(';') ?? []) {
    const at = part.indexOf('=');
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return undefined;
}

export function describeCanary({ header, cookie, weight, total }: Canary): string {
  const rules: string[] = [];
  if (header?.value !== undefined) rules.push(`with header ${header.name}: ${header.value}`);
  else if (header?.pattern) rules.push(`whose header ${header.name} matches the pattern`);
  else if (header) rules.push(`with header ${header.name}: always`);
  if (cookie !== undefined) rules.push(`with cookie ${cookie}=always`);
  rules.push(`${weight} of ${total} others`);
  return `canary for requests ${rules.join(', ')}`;
}
