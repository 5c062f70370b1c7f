import { type Clock, isOlderVersion } from '@tidegate/kube';
import {
  continueTooOld,
  type Exchange,
  type ListOptions,
  listTooOld,
  type Representation,
} from '@tidegate/serving';
import type { Hold, Projection } from '../projections/index.ts';
import { bytesIn, type Form, formOf, objectIn, typeIn } from './forms.ts';
import { untilFresh } from './fresh.ts';

export interface AnswerContext {
  clock: Clock;
  /** Aborted when the client disconnects or the hub stops. */
  signal: AbortSignal;
  /**
   * Counts the bytes that wait for the client of a watch. Returns false if they are too many: then the client is
   * disconnected.
   */
  queued?(bytes: number): boolean;
}

/**
 * Sends the objects of the projection as a list. A `limit` is ignored: it protects servers that read each list from a
 * database, and the API allows a server to return more. A list without a continue token is complete. Throws an ApiError
 * if the request cannot be answered.
 */
export async function answerList(
  exchange: Exchange,
  hold: Hold,
  options: ListOptions,
  representation: Representation,
  { clock, signal }: AnswerContext,
): Promise<void> {
  const form = formOf(representation, 'list');
  // The hub issues no continue tokens. This one comes from the API server, for a list that the hub does not have.
  if (options.continue !== '') throw continueTooOld();
  await untilFresh(hold, options.resourceVersion, clock, signal);
  const { projection } = hold;
  if (options.exact && isOlderVersion(options.resourceVersion, projection.resourceVersion))
    throw listTooOld();
  if (representation.format === 'json') {
    await exchange.bytes(200, 'application/json', listBytes(projection, form));
    return;
  }
  const items = projection.items().map((item) => objectIn(form, item));
  await exchange.object(200, { ...listHead(projection, form), items }, representation.format);
}

const listHead = (projection: Projection, form: Form) => ({
  ...typeIn(form, projection.view, 'list'),
  metadata: { resourceVersion: projection.resourceVersion },
});

const COMMA = Buffer.from(',');

/**
 * Concatenates the bytes of the objects without decoding them. The items have apiVersion and kind, which API servers omit
 * for built-in types; clients accept both.
 */
function listBytes(projection: Projection, form: Form): Buffer[] {
  const head = JSON.stringify({ ...listHead(projection, form), items: [] });
  const parts: Buffer[] = [Buffer.from(head.slice(0, -2))];
  for (const item of projection.items()) parts.push(bytesIn(form, item), COMMA);
  if (parts.length > 1) parts.pop();
  parts.push(Buffer.from(']}\n'));
  return parts;
}
