/** The body ends in the middle of a field, or is no protobuf at all. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/** Reads the fields of one message, which lies in a larger buffer, without copying it. */
export class Reader {
  readonly bytes: Buffer;
  readonly end: number;
  offset: number;
  /** Of the field last read by `next`. */
  number = 0;
  wire = 0;
  /** Where the content of a field with a length begins and ends. */
  from = 0;
  to = 0;
  /** The value of a field without a length. */
  scalar = 0;

  constructor(bytes: Buffer, offset = 0, end = bytes.length) {
    this.bytes = bytes;
    this.offset = offset;
    this.end = end;
  }

  /** Moves on to the next field; false at the end. */
  next(): boolean {
    if (this.offset >= this.end) return false;
    const tag = this.#varint();
    this.number = Math.floor(tag / 8);
    this.wire = tag % 8;
    switch (this.wire) {
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
        throw new WireError(`wire type ${this.wire} is not in use`);
    }
  }

  text(): string {
    return this.bytes.toString('utf8', this.from, this.to);
  }

  content(): Buffer {
    return this.bytes.subarray(this.from, this.to);
  }

  /** A reader of the message that the field last read holds. */
  message(): Reader {
    return new Reader(this.bytes, this.from, this.to);
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
