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
import { fresh } from './fresh.ts';

export interface AnswerContext {
  clock: Clock;
  /** Aborted when the client is gone or the hub stops. */
  signal: AbortSignal;
}

/**
 * Sends what the projection shows, all at once: a `limit` is for servers that have to read what they list, and clients
 * take a list without `continue` for the whole. Throws an API server's refusal.
 */
export async function answerList(
  exchange: Exchange,
  hold: Hold,
  options: ListOptions,
  representation: Representation,
  { clock, signal }: AnswerContext,
): Promise<void> {
  const form = formOf(representation, 'list');
  // Whoever has begun elsewhere with pages has to begin anew.
  if (options.continue !== '') throw continueTooOld();
  await fresh(hold, options.resourceVersion, clock, signal);
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

/** Put together from bytes: nothing is decoded. Items keep their kind, which real servers leave out; clients take both. */
function listBytes(projection: Projection, form: Form): Buffer[] {
  const head = JSON.stringify({ ...listHead(projection, form), items: [] });
  const parts: Buffer[] = [Buffer.from(head.slice(0, -2))];
  for (const item of projection.items()) parts.push(bytesIn(form, item), COMMA);
  if (parts.length > 1) parts.pop();
  parts.push(Buffer.from(']}\n'));
  return parts;
}
