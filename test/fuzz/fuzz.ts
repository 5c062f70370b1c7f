import { Chance } from '../support/random.ts';
import { bytesOf, drawRequest } from './grammar.ts';
import { meaningOf } from './reference.ts';
import { difference, exchange, type FuzzTarget } from './target.ts';

export interface FuzzOptions {
  seed: number;
  /** Asked before each request. */
  more: () => boolean;
}

export interface FuzzResult {
  requests: number;
  /** How many of them the reference understood. */
  plain: number;
}

/** Sends random requests to the target. Throws at the first one that it understands differently than the reference. */
export async function fuzz(target: FuzzTarget, { seed, more }: FuzzOptions): Promise<FuzzResult> {
  const chance = new Chance(seed);
  const result = { requests: 0, plain: 0 };
  while (more()) {
    const request = drawRequest(chance, `${seed}-${result.requests++}`, target.tokens);
    const meaning = meaningOf(request);
    if (meaning !== undefined) result.plain++;
    const bytes = bytesOf(request);
    const answer = await exchange(target.port, bytes);
    const why = difference(target, request, meaning, answer);
    if (why !== undefined)
      throw new Error(
        `${target.name}, seed ${seed}: ${why}\nrequest: ${JSON.stringify(bytes.toString('latin1'))}`,
      );
  }
  return result;
}
