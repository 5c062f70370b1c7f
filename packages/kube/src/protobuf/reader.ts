import { MAX_JSON_DEPTH } from '../base/json-size.ts';

/** The body is truncated, is not protobuf, or contains something that this package does not know. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/**
 * A cursor over the protobuf wire format, as far as the Kubernetes API uses it: varints, doubles, floats, and everything
 * that has a length. It walks through the fields of a message, and of the messages inside it, without copying bytes and
 * without creating an object per field: a list of EndpointSlices has hundreds of thousands of fields.
 *
 * @example
 * const reader = new Reader(bytes);
 * while (reader.next()) if (reader.number === 1) name = reader.text();
 */
export class Reader {
  readonly bytes: Buffer;
  offset: number;
  /** Where the message that is being read ends. */
  end: number;
  /** The number of the field that `next` has read. */
  number = 0;
  /** Where the content of a field with a length begins and ends. */
  from = 0;
  to = 0;
  /** The value of a field without a length. */
  scalar = 0;
  /** Whether the current field is a text or a message, as opposed to a number. */
  hasLength = false;

  constructor(bytes: Buffer, offset = 0) {
    this.bytes = bytes;
    this.offset = offset;
    this.end = bytes.length;
  }

  /** Moves on to the next field; false at the end of the message. */
  next(): boolean {
    if (this.offset >= this.end) return false;
    const tag = this.#varint();
    this.number = Math.floor(tag / 8);
    // If the sender thinks that this field has a length and the reader expects a number, the number is 0.
    this.scalar = 0;
    this.from = this.to = this.offset;
    this.hasLength = tag % 8 === 2;
    switch (tag % 8) {
      case 0:
        this.scalar = this.#varint();
        return true;
      case 1:
        this.#take(8);
        this.scalar = this.bytes.readDoubleLE(this.from);
        return true;
      case 2:
        this.#take(this.#varint());
        return true;
      case 5:
        this.#take(4);
        this.scalar = this.bytes.readFloatLE(this.from);
        return true;
      default:
        throw new WireError(`wire type ${tag % 8} is not in use`);
    }
  }

  /** The content of the current field as UTF-8. */
  text(): string {
    return this.bytes.toString('utf8', this.from, this.to);
  }

  /** The content of the current field, not copied. */
  content(): Buffer {
    return this.bytes.subarray(this.from, this.to);
  }

  /** How many messages have been entered, and not left. */
  #depth = 0;

  /** Enters the message in the current field. Pass the result to `leave`. */
  enter(): number {
    // Types can be recursive, and so are the functions that read them.
    if (++this.#depth > MAX_JSON_DEPTH) throw new WireError(`more than ${MAX_JSON_DEPTH} nested messages`);
    const outer = this.end;
    this.offset = this.from;
    this.end = this.to;
    return outer;
  }

  /** Skips the rest of the message that `enter` entered, and returns to the one around it. */
  leave(outer: number): void {
    this.#depth--;
    this.offset = this.end;
    this.end = outer;
  }

  #take(length: number): void {
    this.from = this.offset;
    this.to = this.offset + length;
    if (!(this.to <= this.end)) throw new WireError('unexpected end of a field');
    this.offset = this.to;
  }

  /**
   * int32 and int64 alike. No number in the API exceeds 2^53, so doubles are exact for all but negative numbers, which
   * fill all 64 bits and therefore take ten bytes.
   */
  #varint(): number {
    const start = this.offset;
    let value = 0;
    let scale = 1;
    for (let length = 1; length <= 10; length++) {
      if (this.offset >= this.end) throw new WireError('unexpected end of a number');
      const byte = this.bytes[this.offset++]!;
      if (length === 10) return this.#negative(start);
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw new WireError('a number has too many bytes');
  }

  #negative(start: number): number {
    let value = 0n;
    for (let i = 0; i < 10; i++) value |= BigInt(this.bytes[start + i]! & 0x7f) << BigInt(7 * i);
    if (this.bytes[start + 9]! >= 0x80) throw new WireError('a number has too many bytes');
    return Number(BigInt.asIntN(64, value));
  }
}
