/** The small messages that Kubernetes shows as one value in JSON. Each function reads the current field of the reader. */
import { type Reader, WireError } from './reader.ts';

/**
 * Whether a time shows fractions of a second: metav1.Time never does, metav1.MicroTime always does. `if set` is for
 * readers that do not know which of the two it is.
 */
export type Fractions = 'never' | 'always' | 'if set';

/** A time: seconds and nanoseconds. Undefined for an empty message, which is Go's zero time. */
export function readTime(reader: Reader, fractions: Fractions): string | undefined {
  if (reader.from === reader.to) return undefined;
  let seconds = 0;
  let nanos = 0;
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.number === 1) seconds = reader.scalar;
    else if (reader.number === 2) nanos = reader.scalar;
  }
  reader.leave(outer);
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) throw new WireError('a time is out of range');
  const text = date.toISOString().slice(0, 19);
  if (fractions === 'never' || (fractions === 'if set' && nanos === 0)) return `${text}Z`;
  return `${text}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z`;
}

/** IntOrString: a type (0 is a number), a number and a string. */
export function readIntOrString(reader: Reader): number | string {
  let type = 0;
  let number = 0;
  let text = '';
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.number === 1) type = reader.scalar;
    else if (reader.number === 2) number = reader.scalar;
    else if (reader.number === 3) text = reader.text();
  }
  reader.leave(outer);
  return type === 0 ? number : text;
}

/** A message whose field 1 is a string, for example a Quantity. */
export function readWrappedText(reader: Reader): string {
  let text = '';
  const outer = reader.enter();
  while (reader.next()) if (reader.number === 1) text = reader.text();
  reader.leave(outer);
  return text;
}

/** RawExtension and FieldsV1 carry JSON. */
export function readEmbeddedJson(reader: Reader): unknown {
  const text = readWrappedText(reader);
  try {
    return text === '' ? null : JSON.parse(text);
  } catch (cause) {
    throw new WireError(`embedded JSON cannot be parsed: ${(cause as Error).message}`);
  }
}
