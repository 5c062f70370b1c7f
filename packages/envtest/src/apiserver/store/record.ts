/**
 * Records: the changes in the payload of a frame. Integers are little-endian.
 *
 *   type 1 | revision 6 | lengths: resource 2, namespace 2, name 2, value 4 | the four values in this order
 */
import { FRAME_HEADER_SIZE, sealFrame } from '@tidegate/disk';
import type { Change, Entry } from './types.ts';

export interface LogRecord {
  readonly type: Change['type'];
  readonly resource: string;
  readonly entry: Entry;
}

const PUT = 0;
const DELETE = 1;
const RECORD_HEADER_SIZE = 17;
const INITIAL_CAPACITY = 64 << 10;
/** A buffer that grew beyond this size for one large commit is released afterwards. */
const KEPT_CAPACITY = 4 << 20;

/** Builds frames in a buffer that is reused. */
export class FrameEncoder {
  #buffer = Buffer.allocUnsafeSlow(INITIAL_CAPACITY);
  #length = FRAME_HEADER_SIZE;

  /** Size of the frame so far. */
  get length(): number {
    return this.#length;
  }

  /** Discards a frame that was not finished. */
  clear(): void {
    this.#length = FRAME_HEADER_SIZE;
  }

  add({ type, resource, entry }: LogRecord): void {
    const { namespace, name, value } = entry;
    // UTF-8 needs at most three bytes for each UTF-16 code unit.
    const most = RECORD_HEADER_SIZE + 3 * (resource.length + namespace.length + name.length) + value.length;
    this.#reserve(most);
    const buffer = this.#buffer;
    const start = this.#length;
    let at = start + RECORD_HEADER_SIZE;
    const resourceLength = buffer.write(resource, at);
    at += resourceLength;
    const namespaceLength = buffer.write(namespace, at);
    at += namespaceLength;
    const nameLength = buffer.write(name, at);
    at += nameLength;
    at += value.copy(buffer, at);
    buffer[start] = type === 'put' ? PUT : DELETE;
    buffer.writeUIntLE(entry.revision, start + 1, 6);
    buffer.writeUInt16LE(resourceLength, start + 7);
    buffer.writeUInt16LE(namespaceLength, start + 9);
    buffer.writeUInt16LE(nameLength, start + 11);
    buffer.writeUInt32LE(value.length, start + 13);
    this.#length = at;
  }

  /** Seals the frame and starts the next one. The result is valid until the next `add`. */
  finish(): Buffer {
    const frame = this.#buffer.subarray(0, this.#length);
    sealFrame(frame);
    this.clear();
    if (this.#buffer.length > KEPT_CAPACITY) this.#buffer = Buffer.allocUnsafeSlow(INITIAL_CAPACITY);
    return frame;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/** Reads records. Equal resource and namespace names share one string, no matter how many objects there are. */
export class RecordDecoder {
  readonly #names = new Map<string, string>();

  decode(payload: Buffer, onRecord: (record: LogRecord) => void): void {
    let at = 0;
    while (at < payload.length) {
      const type = payload[at] === DELETE ? 'delete' : 'put';
      const revision = payload.readUIntLE(at + 1, 6);
      const resourceEnd = at + RECORD_HEADER_SIZE + payload.readUInt16LE(at + 7);
      const namespaceEnd = resourceEnd + payload.readUInt16LE(at + 9);
      const nameEnd = namespaceEnd + payload.readUInt16LE(at + 11);
      const end = nameEnd + payload.readUInt32LE(at + 13);
      if (end > payload.length)
        throw new RangeError(`a record of revision ${revision} is longer than its frame`);
      const resource = this.#intern(payload.toString('utf8', at + RECORD_HEADER_SIZE, resourceEnd));
      const namespace = this.#intern(payload.toString('utf8', resourceEnd, namespaceEnd));
      const name = payload.toString('utf8', namespaceEnd, nameEnd);
      const value = ownBytes(payload.subarray(nameEnd, end));
      onRecord({ type, resource, entry: { namespace, name, revision, value } });
      at = end;
    }
  }

  #intern(text: string): string {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    this.#names.set(text, text);
    return text;
  }
}

/**
 * Copies the value into memory of exactly its size. A small Buffer is usually a slice of a larger one (Node's pool, or
 * a chunk that was read), and keeping one object would keep the whole chunk in memory.
 */
export function ownBytes(value: Buffer): Buffer {
  if (value.buffer.byteLength === value.length) return value;
  const own = Buffer.allocUnsafeSlow(value.length);
  value.copy(own);
  return own;
}
