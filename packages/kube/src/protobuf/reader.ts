/** The body ends in the middle of a field, is no protobuf at all, or says more than is understood here. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/** Walks through the fields of a message and of those within it, without copying anything. */
export class Reader {
  readonly bytes: Buffer;
  offset: number;
  /** Where the message that is being read ends. */
  end: number;
  /** Of the field last read by `next`. */
  number = 0;
  /** Where the content of a field with a length begins and ends. */
  from = 0;
  to = 0;
  /** The value of a field without a length. */
  scalar = 0;

  constructor(bytes: Buffer, offset = 0) {
    this.bytes = bytes;
    this.offset = offset;
    this.end = bytes.length;
  }

  /** Moves on to the next field; false at the end. */
  next(): boolean {
    if (this.offset >= this.end) return false;
    const tag = this.#varint();
    this.number = Math.floor(tag / 8);
    // A field with a length may be read as a number only if the two sides differ about it: it is none then.
    this.scalar = 0;
    this.from = this.to = this.offset;
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

  text(): string {
    return this.bytes.toString('utf8', this.from, this.to);
  }

  content(): Buffer {
    return this.bytes.subarray(this.from, this.to);
  }

  /** Goes into the message that the field last read holds. Returns what `leave` wants. */
  enter(): number {
    const outer = this.end;
    this.offset = this.from;
    this.end = this.to;
    return outer;
  }

  leave(outer: number): void {
    this.offset = this.end;
    this.end = outer;
  }

  #take(length: number): void {
    this.from = this.offset;
    this.to = this.offset + length;
    if (!(this.to <= this.end)) throw new WireError('unexpected end of a field');
    this.offset = this.to;
  }

  /** int32 and int64 alike; negative numbers fill all 64 bits, and nothing in the API is larger than 2^53. */
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
