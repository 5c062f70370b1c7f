/**
 * How large and how deep a JSON value is. A small text can describe a huge value: a patch that copies into itself, a YAML
 * document whose aliases refer to each other. And a text that is only deep ends a process: recursive functions exhaust the
 * stack, which no `catch` can repair in every case. So values are measured before anything else walks them.
 */

/**
 * The number of nested lists and maps that a document may have. kube-apiserver allows 10,000; no kind needs more than about
 * 100, and every recursive function in these packages works with this depth.
 */
export const MAX_JSON_DEPTH = 500;

/** The size of a request body that API servers accept, and so of any object. */
export const MAX_JSON_BYTES = 3 * 1024 * 1024;

export interface JsonLimits {
  bytes: number;
  depth: number;
}

export type JsonExcess = 'too large' | 'too deep';

const LIMITS: JsonLimits = { bytes: MAX_JSON_BYTES, depth: MAX_JSON_DEPTH };

/** About the number of bytes of the value as JSON text. Stops as soon as a limit is exceeded, and returns which. */
export function measureJson(value: unknown, { bytes, depth }: JsonLimits = LIMITS): number | JsonExcess {
  let size = 0;
  /** Whether to continue. Values that appear twice count twice, as in the text. */
  const add = (one: unknown, left: number): JsonExcess | undefined => {
    size += sizeOfScalar(one);
    if (size > bytes) return 'too large';
    if (typeof one !== 'object' || one === null) return undefined;
    if (left === 0) return 'too deep';
    if (Array.isArray(one)) {
      for (const item of one) {
        const excess = add(item, left - 1);
        if (excess !== undefined) return excess;
      }
      return undefined;
    }
    for (const [key, item] of Object.entries(one)) {
      size += Buffer.byteLength(key) + 3;
      const excess = add(item, left - 1);
      if (excess !== undefined) return excess;
    }
    return undefined;
  };
  return add(value, depth) ?? size;
}

/** Without the items of a list or map; with the comma that follows. */
function sizeOfScalar(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value) + 3;
  return typeof value === 'object' && value !== null ? 3 : String(value).length + 1;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * The position of the first bracket that opens more than `limit` levels; -1 if there is none. Reads the text without
 * recursion, so that it can be rejected before a parser sees it. The text does not have to be valid JSON.
 */
export function tooDeepAt(text: string, limit: number = MAX_JSON_DEPTH): number {
  // A text that is too deep has at least so many brackets.
  if (text.length <= limit) return -1;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > limit) return at;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  return -1;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    let escapes = quote - 1;
    while (escapes > start && text.charCodeAt(escapes) === BACKSLASH) escapes--;
    if ((quote - escapes) % 2 === 1) return quote;
    at = quote;
  }
}
