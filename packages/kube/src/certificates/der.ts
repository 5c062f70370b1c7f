/**
 * The small part of ASN.1 DER that X.509 certificates and signing requests consist of. This is our own code because a
 * general X.509 library takes a quarter of a second to import, which would be most of the cold start of the API
 * server.
 */

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  sequence: 0x30,
  set: 0x31,
  utcTime: 0x17,
  generalizedTime: 0x18,
} as const;

function lengthBytes(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

/** One element: tag, length, content. */
export function tlv(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthBytes(content.length), content]);
}

export const sequence = (...items: Buffer[]): Buffer => tlv(TAG.sequence, ...items);
export const set = (...items: Buffer[]): Buffer => tlv(TAG.set, ...items);
export const octetString = (content: Buffer): Buffer => tlv(TAG.octetString, content);
export const utf8String = (text: string): Buffer => tlv(TAG.utf8String, Buffer.from(text, 'utf8'));
export const TRUE: Buffer = tlv(TAG.boolean, Buffer.from([0xff]));

/** A constructed, context-specific element: `[n] EXPLICIT`. */
export const explicit = (n: number, ...items: Buffer[]): Buffer => tlv(0xa0 | n, ...items);
/** A primitive, context-specific element: `[n] IMPLICIT` of a string type. */
export const implicit = (n: number, content: Buffer): Buffer => tlv(0x80 | n, content);

/** A non-negative integer; a leading zero keeps the sign bit clear. */
export function integer(value: number | Buffer): Buffer {
  const bytes = typeof value === 'number' ? Buffer.from([value]) : value;
  return tlv(TAG.integer, (bytes[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

export function bitString(content: Buffer, unusedBits = 0): Buffer {
  return tlv(TAG.bitString, Buffer.from([unusedBits]), content);
}

/** An object identifier. Each number is written in groups of seven bits, most significant first. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes: number[] = [];
  for (const arc of [first * 40 + second, ...rest]) {
    const groups = [arc & 0x7f];
    for (let more = arc >>> 7; more > 0; more >>>= 7) groups.unshift((more & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return tlv(TAG.oid, Buffer.from(bytes));
}

/** RFC 5280: two-digit years up to 2049, four-digit years from then on. */
export function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]/g, '').slice(0, 14);
  return date.getUTCFullYear() < 2050
    ? tlv(TAG.utcTime, Buffer.from(`${digits.slice(2)}Z`))
    : tlv(TAG.generalizedTime, Buffer.from(`${digits}Z`));
}

/** One decoded element: its tag, its content, and its complete bytes. */
export class DerElement {
  readonly tag: number;
  readonly content: Buffer;
  readonly raw: Buffer;

  constructor(tag: number, content: Buffer, raw: Buffer) {
    this.tag = tag;
    this.content = content;
    this.raw = raw;
  }

  children(): DerElement[] {
    const found: DerElement[] = [];
    for (let rest = this.content; rest.length > 0; ) {
      const element = readDer(rest);
      found.push(element);
      rest = rest.subarray(element.raw.length);
    }
    return found;
  }

  child(index: number): DerElement {
    const found = this.children()[index];
    if (found === undefined) throw new Error(`asn1: structure error: element ${index} is missing`);
    return found;
  }

  /** The children, if the element has this tag and so many of them. */
  exactly(tag: number, least: number, most = least): DerElement[] {
    const found = this.tag === tag ? this.children() : [];
    if (this.tag === tag && found.length >= least && found.length <= most) return found;
    throw new Error('asn1: structure error: an element has another type or number of parts than expected');
  }

  is(encoded: Buffer): boolean {
    return this.raw.equals(encoded);
  }

  text(): string {
    return this.tag === 0x1e
      ? Buffer.from(this.content).swap16().toString('utf16le')
      : this.content.toString(this.tag === TAG.utf8String ? 'utf8' : 'latin1');
  }
}

/** Reads an element that must be all of the bytes. */
export function readWholeDer(bytes: Buffer): DerElement {
  const element = readDer(bytes);
  if (element.raw.length !== bytes.length) throw new Error('asn1: syntax error: trailing data');
  return element;
}

/** Reads the first element and ignores what follows it. */
export function readDer(bytes: Buffer): DerElement {
  const tag = bytes[0];
  let length = bytes[1];
  if (tag === undefined || length === undefined)
    throw new Error('asn1: syntax error: truncated tag or length');
  if ((tag & 0x1f) === 0x1f) throw new Error('asn1: syntax error: tag of more than one byte');
  let start = 2;
  if (length >= 0x80) {
    const count = length & 0x7f;
    if (count === 0 || count > 4 || bytes.length < 2 + count)
      throw new Error('asn1: syntax error: bad length');
    length = bytes.readUIntBE(2, count);
    if (length < 0x80 || bytes[2] === 0) throw new Error('asn1: structure error: non-minimal length');
    start += count;
  }
  const end = start + length;
  if (end > bytes.length) throw new Error('asn1: syntax error: data truncated');
  return new DerElement(tag, bytes.subarray(start, end), bytes.subarray(0, end));
}
