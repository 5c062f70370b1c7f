const LENGTH_DELIMITED = 2;
const VARINT = 0;
const FIXED64 = 1;

/** In characters. */
const SHORT = 48;

/**
 * Writes a protobuf message from the end to the beginning, so that the length of a nested message is known when it must
 * be written. Callers therefore write fields, and the elements of repeated fields, in reverse order.
 */
export class ProtobufWriter {
  #buffer: Buffer;
  #start: number;

  constructor(size = 64 * 1024) {
    this.#buffer = Buffer.allocUnsafe(size);
    this.#start = size;
  }

  text(field: number, value: string): void {
    if (value.length <= SHORT && this.#ascii(value)) {
      this.#lengthOf(field, value.length);
      return;
    }
    const length = Buffer.byteLength(value);
    this.#reserve(length);
    this.#start -= length;
    this.#buffer.write(value, this.#start);
    this.#lengthOf(field, length);
  }

  bytes(field: number, value: Uint8Array): void {
    this.#reserve(value.length);
    this.#start -= value.length;
    this.#buffer.set(value, this.#start);
    this.#lengthOf(field, value.length);
  }

  boolean(field: number, value: boolean): void {
    this.#varint(value ? 1 : 0);
    this.#tag(field, VARINT);
  }

  /** Writes an int32 or int64. */
  integer(field: number, value: number): void {
    if (value >= 0 && value < 2 ** 31) this.#varint(value);
    else this.#varint64(BigInt.asUintN(64, BigInt(Math.trunc(value))));
    this.#tag(field, VARINT);
  }

  double(field: number, value: number): void {
    this.#reserve(8);
    this.#start -= 8;
    this.#buffer.writeDoubleLE(value, this.#start);
    this.#tag(field, FIXED64);
  }

  message(field: number, write: () => void): void {
    const before = this.length;
    write();
    this.endMessage(field, before);
  }

  /** Ends a nested message that began when the writer had this `length`. The same as `message`, without a function. */
  endMessage(field: number, before: number): void {
    this.#lengthOf(field, this.length - before);
  }

  /** The number of bytes written so far. */
  get length(): number {
    return this.#buffer.length - this.#start;
  }

  /** A copy of the message without the unused part of the buffer. The writer can then be used again. */
  finish(): Buffer {
    const message = Buffer.from(this.#buffer.subarray(this.#start));
    this.#start = this.#buffer.length;
    return message;
  }

  /** Most texts are short names. A loop copies them faster than a call into the runtime. */
  #ascii(value: string): boolean {
    const { length } = value;
    this.#reserve(length);
    const at = this.#start - length;
    for (let i = 0; i < length; i++) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) return false;
      this.#buffer[at + i] = code;
    }
    this.#start = at;
    return true;
  }

  #lengthOf(field: number, length: number): void {
    this.#varint(length);
    this.#tag(field, LENGTH_DELIMITED);
  }

  #tag(field: number, wireType: number): void {
    this.#varint((field << 3) | wireType);
  }

  /** Lengths, tags and most numbers are below 2^31. */
  #varint(value: number): void {
    if (value < 0x80) {
      this.#reserve(1);
      this.#buffer[--this.#start] = value;
      return;
    }
    const size = value < 0x4000 ? 2 : value < 0x200000 ? 3 : value < 0x10000000 ? 4 : 5;
    this.#reserve(size);
    this.#start -= size;
    let rest = value;
    for (let i = 0; i < size - 1; i++, rest >>>= 7) this.#buffer[this.#start + i] = (rest & 0x7f) | 0x80;
    this.#buffer[this.#start + size - 1] = rest;
  }

  #varint64(value: bigint): void {
    const bytes: number[] = [];
    let rest = value;
    for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
    this.#reserve(bytes.length);
    this.#start -= bytes.length;
    this.#buffer.set(bytes, this.#start);
  }

  #reserve(size: number): void {
    if (size <= this.#start) return;
    const { length } = this;
    const grown = Buffer.allocUnsafe(2 * (length + size));
    this.#buffer.copy(grown, grown.length - length, this.#start);
    this.#start = grown.length - length;
    this.#buffer = grown;
  }
}
