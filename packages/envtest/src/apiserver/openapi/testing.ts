import { Reader } from '@tidegate/kube/protobuf';

interface Field {
  number: number;
  /** Undefined for a text or a message. */
  scalar: number | undefined;
  bytes: Buffer;
}

/** The fields of a protobuf message, in the order in which they were written. */
export function readFields(message: Buffer): Field[] {
  const fields: Field[] = [];
  const reader = new Reader(message);
  while (reader.next()) {
    const { number, scalar, hasLength } = reader;
    fields.push({ number, scalar: hasLength ? undefined : scalar, bytes: reader.content() });
  }
  return fields;
}
