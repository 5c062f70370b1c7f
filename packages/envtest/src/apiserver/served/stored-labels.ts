/**
 * Reads the labels of a stored object from its bytes, without parsing the rest of it. A list with a label selector does this
 * for every object of the resource, and only a few of them match: to parse all of each object takes about four times as long.
 *
 * The bytes come from `encodeStored`, so they are valid JSON without spaces between tokens. The reader steps over the fields
 * of the object to `metadata`, and over the fields of that to `labels`, wherever they are: built-in kinds have `metadata`
 * third, and custom resources have sorted fields.
 */
import type { Labels } from '@tidegate/kube';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

const METADATA = Buffer.from('"metadata":');
const LABELS = Buffer.from('"labels":');

/** As much of an object as contains labels of a usual size. */
const HEAD_BYTES = 1024;

/** Labels without escapes, in ASCII. */
const PLAIN_LABELS = /^\{(?:"[^"\\\x80-\xff]*":"[^"\\\x80-\xff]*",?)*\}$/;

/** Labels by their text: many objects have the same ones, for example all pods of a Deployment, and share one object. */
const parsed = new Map<string, Labels>();
const MOST_PARSED = 1000;

/** The labels of the object; undefined if it has none. */
export function storedLabels(object: Buffer): Labels | undefined {
  const usual = usualLabels(object.toString('latin1', 0, HEAD_BYTES));
  if (usual !== undefined) return usual;
  // Quotes in a text are escaped, so these bytes are always a field, of this object or of one inside it.
  return object.includes('"labels":{') ? scanLabels(object) : undefined;
}

/**
 * The labels in their usual place: `metadata` is the first field with an object in it, and `labels` is the first such field
 * of that. Both are found by their braces. Quotes in a text are escaped, so a brace after the quoted name of a field belongs
 * to that field, and with no brace closed before it, the field is where it is expected. A few calls into the runtime are
 * faster than loops, above all before loops are compiled: the first list with a label selector reads every object.
 */
function usualLabels(head: string): Labels | undefined {
  const metadata = head.indexOf('{', 1);
  const labels = head.indexOf('{', metadata + 1);
  const end = head.indexOf('}', 1) + 1;
  if (end <= labels || !head.endsWith('"metadata":', metadata) || !head.endsWith('"labels":', labels)) {
    return undefined;
  }
  const text = head.slice(labels, end);
  return parsed.get(text) ?? (PLAIN_LABELS.test(text) ? sharedLabels(text) : undefined);
}

/** The labels with this text in JSON. They must not be changed. */
export function sharedLabels(text: string): Labels {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const made = JSON.parse(text) as Labels;
  if (parsed.size >= MOST_PARSED) parsed.clear();
  parsed.set(text, made);
  return made;
}

/** Finds the labels in any form of the object. */
function scanLabels(object: Buffer): Labels | undefined {
  const metadata = fieldOf(object, 0, METADATA);
  if (object[metadata] !== OPEN_BRACE) return undefined;
  const labels = fieldOf(object, metadata, LABELS);
  // A label field with null, which kube-apiserver accepts, has no labels.
  if (object[labels] !== OPEN_BRACE) return undefined;
  return JSON.parse(object.toString('utf8', labels, endOfValue(object, labels))) as Labels;
}

/** The offset of the value of a field of the object that begins at `at`; -1 if it does not have the field. */
function fieldOf(json: Buffer, at: number, field: Buffer): number {
  let next = at + 1;
  while (json[next] === QUOTE) {
    const value = endOfString(json, next) + 1;
    if (startsWith(json, next, field)) return value;
    const end = endOfValue(json, value);
    if (json[end] !== COMMA) return -1;
    next = end + 1;
  }
  return -1;
}

/** The offset after the value that begins at `at`. */
function endOfValue(json: Buffer, at: number): number {
  const first = json[at];
  if (first === QUOTE) return endOfString(json, at);
  let next = at;
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) {
    // A number, true, false or null ends before the next comma or bracket.
    while (next < json.length && !endsLiteral(json[next])) next++;
    return next;
  }
  let depth = 0;
  while (next < json.length) {
    const byte = json[next];
    if (byte === QUOTE) {
      next = endOfString(json, next);
      continue;
    }
    next++;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
    else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) return next;
  }
  return next;
}

const endsLiteral = (byte: number | undefined): boolean =>
  byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET;

/** The offset after the string that begins at `at`. The bytes of other characters in UTF-8 are never quotes. */
function endOfString(json: Buffer, at: number): number {
  let next = at + 1;
  while (next < json.length && json[next] !== QUOTE) next += json[next] === BACKSLASH ? 2 : 1;
  return next + 1;
}

function startsWith(json: Buffer, at: number, text: Buffer): boolean {
  for (let i = 0; i < text.length; i++) if (json[at + i] !== text[i]) return false;
  return true;
}
