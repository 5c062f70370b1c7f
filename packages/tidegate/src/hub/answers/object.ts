import type { Exchange, Representation } from '@tidegate/serving';
import type { ViewItem } from '../views/index.ts';
import { bytesIn, formOf, objectIn } from './forms.ts';

const NEWLINE = Buffer.from('\n');

/** Sends one object. Throws an ApiError if the client accepts only formats that the hub cannot create. */
export async function answerObject(
  exchange: Exchange,
  item: ViewItem,
  representation: Representation,
  code = 200,
): Promise<void> {
  const form = formOf(representation, 'object');
  if (representation.format === 'json') {
    await exchange.bytes(code, 'application/json', [bytesIn(form, item), NEWLINE]);
  } else await exchange.object(code, objectIn(form, item), representation.format);
}
