/**
 * One step of a field path as in fieldsV1: `f:spec` is a field, `k:{"name":"web"}` the list item with these keys,
 * `v:"blue"` an item of a set, `i:3` an index. The text is the identity: equal steps have equal texts.
 */

import { isJsonMap, jsonEqual } from '@tidegate/kube';
import { parseJson } from '../schema/json.ts';

/** In fieldsV1, marks that a path with children is itself a member of the set. */
export const SELF = '.';

export const fieldElement = (name: string): string => `f:${name}`;

export const valueElement = (value: unknown): string => `v:${scalarText(value)}`;

/** `names` must be sorted, as in kube-apiserver. */
export function keyElement(names: readonly string[], keyValue: (name: string) => unknown): string {
  const parts: string[] = [];
  for (const name of names) {
    const value = keyValue(name);
    if (value !== undefined) parts.push(`${scalarText(name)}:${scalarText(value)}`);
  }
  return `k:{${parts.join(',')}}`;
}

const HTML = /[<>&\u2028\u2029]/g;
const PLAIN = /^[\w .:/@-]*$/;

/** Go's JSON encoder also escapes HTML characters, and the escapes become part of the element. */
function scalarText(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string' && PLAIN.test(value)) return `"${value}"`;
  return JSON.stringify(value).replace(HTML, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Compares elements in the order of kube-apiserver: self, fields, keys, values, indexes. */
export function compareElements(a: string, b: string): number {
  if (a === b) return 0;
  const kind = RANK.indexOf(a[0] ?? '') - RANK.indexOf(b[0] ?? '');
  if (kind !== 0) return kind;
  if (a[0] === 'f') return a < b ? -1 : 1;
  return compareTexts(a, b) ?? compareParsed(a, b);
}

const RANK = '.fkvi';
const QUOTE = 34;
const COLON = 58;
const BACKSLASH = 92;

/**
 * Compares two key or value elements at the first character that differs, without parsing them, because sets are sorted
 * on every write. Returns undefined if that is not conclusive, for example for escapes or values of different types.
 */
function compareTexts(a: string, b: string): number | undefined {
  let inString = false;
  let valueStart = 2;
  let i = 2;
  for (; a.charCodeAt(i) === b.charCodeAt(i); i++) {
    const code = a.charCodeAt(i);
    if (code === BACKSLASH) return undefined;
    if (code === QUOTE) inString = !inString;
    else if (code === COLON && !inString) valueStart = i + 1;
  }
  const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)];
  if (left === BACKSLASH || right === BACKSLASH) return undefined;
  if (inString) return left === QUOTE ? -1 : right === QUOTE ? 1 : left - right;
  const order = Number.parseFloat(a.slice(valueStart)) - Number.parseFloat(b.slice(valueStart));
  return Number.isNaN(order) || order === 0 ? undefined : order;
}

function compareParsed(a: string, b: string): number {
  const [left, right] = [parseElement(a), parseElement(b)];
  return a[0] === 'k' ? compareKeys(left, right) : compareScalars(left, right);
}

const parseElement = (element: string): unknown => parseJson(element.slice(2));

function compareKeys(a: unknown, b: unknown): number {
  const left = Object.entries(a as object);
  const right = Object.entries(b as object);
  for (const [i, [name, value]] of left.entries()) {
    const other = right[i];
    if (other === undefined) return 1;
    if (name !== other[0]) return name < other[0] ? -1 : 1;
    const order = compareScalars(value, other[1]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

const TYPE_RANK: Record<string, number> = { number: 0, string: 1, boolean: 2, object: 3 };

function compareScalars(a: unknown, b: unknown): number {
  const rank = (TYPE_RANK[typeof a] ?? 4) - (TYPE_RANK[typeof b] ?? 4);
  if (rank !== 0 || jsonEqual(a, b)) return rank;
  return (a as number) < (b as number) ? -1 : 1;
}

/**
 * The canonical text of an element from a client. Returns undefined for unknown kinds of elements, which kube-apiserver
 * drops as well. Throws if the text is not an element.
 */
export function canonicalElement(text: string): string | undefined {
  if (text.length < 2) throw new Error('key must be 2 characters long:');
  if (text[1] !== ':') throw new Error(`missing colon: ${text}`);
  switch (text[0]) {
    case 'f':
      return text;
    case 'v':
      return valueElement(parseElement(text));
    case 'k': {
      if (isPlainKey(text)) return text;
      const keys = parseElement(text);
      if (!isJsonMap(keys)) throw new Error(`not a map of keys: ${text}`);
      return keyElement(Object.keys(keys).sort(), (name) => keys[name]);
    }
    case 'i':
      if (!/^i:[+-]?\d+$/.test(text)) throw new Error(`not an index: ${text}`);
      return `i:${Number(text.slice(2))}`;
    default:
      return undefined;
  }
}

const PLAIN_KEY =
  /^k:\{"([\w-]+)":(?:"[\w .:/@-]*"|0|[1-9]\d{0,14})(?:,"([\w-]+)":(?:"[\w .:/@-]*"|0|[1-9]\d{0,14}))?\}$/;

/**
 * True for one or two sorted keys without characters to escape. Nearly all keys are like this, and already canonical.
 */
function isPlainKey(text: string): boolean {
  const match = PLAIN_KEY.exec(text);
  return match !== null && (match[2] === undefined || (match[1] ?? '') < match[2]);
}

/** The element as shown in messages: `.spec`, `[name="web"]`, `[="blue"]`, `[3]`. */
export function printElement(element: string): string {
  const content = element.slice(2);
  if (element[0] === 'f') return `.${content}`;
  if (element[0] === 'i') return `[${content}]`;
  const parsed = parseElement(element);
  if (element[0] === 'v') return `[=${JSON.stringify(parsed)}]`;
  const keys = Object.entries(parsed as object);
  return `[${keys.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(',')}]`;
}
