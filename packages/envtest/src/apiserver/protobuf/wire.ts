/** The wire format of protobuf, as far as the Kubernetes API uses it: varints, doubles, and everything with a length. */

export interface Field {
  number: number;
  /** A varint or a double; undefined for a field with a length. */
  scalar: bigint | number | undefined;
  bytes: Buffer;
}

/** The body ends in the middle of a field, or is no protobuf at all. */
export class WireError extends Error {}

const EMPTY = Buffer.alloc(0);

export function* readFields(message: Buffer): Generator<Field> {
  let offset = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = message[offset++];
      if (byte === undefined) throw new WireError('unexpected end of a number');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new WireError('a number has too many bytes');
  };
  const take = (length: number): Buffer => {
    const end = offset + length;
    if (end > message.length) throw new WireError('unexpected end of a field');
    const bytes = message.subarray(offset, end);
    offset = end;
    return bytes;
  };
  while (offset < message.length) {
    const tag = Number(varint());
    const number = tag >>> 3;
    switch (tag & 7) {
      case 0:
        yield { number, scalar: varint(), bytes: EMPTY };
        break;
      case 1:
        yield { number, scalar: take(8).readDoubleLE(0), bytes: EMPTY };
        break;
      case 2:
        yield { number, scalar: undefined, bytes: take(Number(varint())) };
        break;
      case 5:
        yield { number, scalar: take(4).readFloatLE(0), bytes: EMPTY };
        break;
      default:
        throw new WireError(`wire type ${tag & 7} is not in use`);
    }
  }
}

/** int32 and int64 alike: negative numbers fill all 64 bits. */
export const toInteger = (scalar: bigint | number | undefined): number =>
  Number(typeof scalar === 'bigint' ? BigInt.asIntN(64, scalar) : (scalar ?? 0));
