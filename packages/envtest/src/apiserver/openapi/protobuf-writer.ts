const LENGTH_DELIMITED = 2;
const VARINT = 0;
const FIXED64 = 1;

/**
 * Writes a protobuf message from the end to the beginning, so that the length of a nested message is known when it must
 * be written. Callers therefore write fields, and the elements of repeated fields, in reverse order.
 */
export class ProtobufWriter {
  #buffer = Buffer.allocUnsafe(64 * 1024);
  #start = this.#buffer.length;

  text(field: number, value: string): void {
    const length = Buffer.byteLength(value);
    this.#reserve(length);
    this.#start -= length;
    this.#buffer.write(value, this.#start);
    this.#varint(length);
    this.#tag(field, LENGTH_DELIMITED);
  }

  boolean(field: number, value: boolean): void {
    this.#varint(value ? 1 : 0);
    this.#tag(field, VARINT);
  }

  /** Writes an int64. */
  integer(field: number, value: number): void {
    let rest = BigInt.asUintN(64, BigInt(Math.trunc(value)));
    const bytes: number[] = [];
    for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
    this.#bytes(bytes);
    this.#tag(field, VARINT);
  }

  double(field: number, value: number): void {
    this.#reserve(8);
    this.#start -= 8;
    this.#buffer.writeDoubleLE(value, this.#start);
    this.#tag(field, FIXED64);
  }

  message(field: number, write: () => void): void {
    const before = this.#length;
    write();
    this.#varint(this.#length - before);
    this.#tag(field, LENGTH_DELIMITED);
  }

  /** A copy of the message without the unused part of the buffer. */
  finish(): Buffer {
    return Buffer.from(this.#buffer.subarray(this.#start));
  }

  get #length(): number {
    return this.#buffer.length - this.#start;
  }

  #tag(field: number, wireType: number): void {
    this.#varint((field << 3) | wireType);
  }

  /** Lengths and tags are always below 2^31. */
  #varint(value: number): void {
    const bytes: number[] = [];
    for (; value > 0x7f; value >>>= 7) bytes.push((value & 0x7f) | 0x80);
    bytes.push(value);
    this.#bytes(bytes);
  }

  #bytes(bytes: number[]): void {
    this.#reserve(bytes.length);
    this.#start -= bytes.length;
    this.#buffer.set(bytes, this.#start);
  }

  #reserve(size: number): void {
    if (size <= this.#start) return;
    const length = this.#length;
    const grown = Buffer.allocUnsafe(2 * (length + size));
    this.#buffer.copy(grown, grown.length - length, this.#start);
    this.#start = grown.length - length;
    this.#buffer = grown;
  }
}
