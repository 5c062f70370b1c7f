/**
 * Records: the changes inside a frame's payload.
 *
 *   type 1 | revision 6 | lengths of resource 2, namespace 2, name 2, value 4 | the four, one after the other
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
/** A buffer grown beyond this for one huge commit is given back. */
const KEPT_CAPACITY = 4 << 20;

/** Builds frames in one buffer that is used again and again. */
export class FrameEncoder {
  #buffer = Buffer.allocUnsafeSlow(INITIAL_CAPACITY);
  #length = FRAME_HEADER_SIZE;

  /** Size of the frame as it stands. */
  get length(): number {
    return this.#length;
  }

  /** Forgets a frame that was not finished. */
  clear(): void {
    this.#length = FRAME_HEADER_SIZE;
  }

  add({ type, resource, entry }: LogRecord): void {
    const { namespace, name, value } = entry;
    // UTF-8 takes at most three bytes for a UTF-16 unit.
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

  /** Seals the frame and starts the next one; the result is valid until the next `add`. */
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

/** Reads records; equal resource and namespace names become one string, whatever the number of objects. */
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
 * The value in memory of exactly its size. A small Buffer is mostly a piece of a bigger one (Node's pool, a read
 * chunk), and one kept object would keep all of that alive.
 */
export function ownBytes(value: Buffer): Buffer {
  if (value.buffer.byteLength === value.length) return value;
  const own = Buffer.allocUnsafeSlow(value.length);
  value.copy(own);
  return own;
}
