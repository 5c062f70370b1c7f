/** How a request declares its body. */
interface Framing {
  readonly lengths: readonly string[];
  readonly codings: readonly string[];
  /** HTTP/1.0. */
  readonly isOld: boolean;
}

/** `tolerated`: the trailers contain what they must not contain. A router refuses them or ignores them. */
export type Body =
  | {
      readonly kind: 'plain' | 'tolerated';
      readonly length: number /** What follows the body. */;
      readonly rest: string;
    }
  | { readonly kind: 'refused' }
  | { readonly kind: 'incomplete' };

const REFUSED: Body = { kind: 'refused' };

/** Reads the body at the beginning of the text. A body has one length, declared in one way. */
export function readBody(text: string, { lengths, codings, isOld }: Framing): Body {
  if (lengths.length + codings.length === 0) return { kind: 'plain', length: 0, rest: text };
  if (lengths.length + codings.length > 1) return REFUSED;
  const [length] = lengths;
  if (length !== undefined) {
    if (!/^\d{1,15}$/.test(length)) return REFUSED;
    const bytes = Number(length);
    return bytes <= text.length
      ? { kind: 'plain', length: bytes, rest: text.slice(bytes) }
      : { kind: 'incomplete' };
  }
  if (isOld || codings[0]?.toLowerCase() !== 'chunked') return REFUSED;
  return readChunks(text);
}

const SIZE = /^([0-9a-f]{1,8})(?:;[\t\x20-\x7e]*)?\r\n/i;
const TRAILER = /^(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n/;

const FORBIDDEN = /^(?:content-length|transfer-encoding|host):/im;

function readChunks(text: string): Body {
  let at = 0;
  for (let total = 0; ; ) {
    const [line, size] = SIZE.exec(text.slice(at)) ?? [];
    if (line === undefined || size === undefined) return REFUSED;
    const bytes = Number.parseInt(size, 16);
    at += line.length;
    if (bytes === 0) {
      const [trailer] = TRAILER.exec(text.slice(at)) ?? [];
      if (trailer === undefined) return REFUSED;
      const kind = FORBIDDEN.test(trailer) ? 'tolerated' : 'plain';
      return { kind, length: total, rest: text.slice(at + trailer.length) };
    }
    if (at + bytes + 2 > text.length) return { kind: 'incomplete' };
    if (text.slice(at + bytes, at + bytes + 2) !== '\r\n') return REFUSED;
    total += bytes;
    at += bytes + 2;
  }
}
