import { Chance } from '../support/random.ts';
import type { FuzzTarget } from './target.ts';

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
export async function fuzz<R>(target: FuzzTarget<R>, { seed, more }: FuzzOptions): Promise<FuzzResult> {
  const chance = new Chance(seed);
  const result = { requests: 0, plain: 0 };
  while (more()) {
    const request = target.draw(chance, `${seed}-${result.requests++}`);
    const { plain, difference } = await target.check(request);
    if (plain) result.plain++;
    if (difference === undefined) continue;
    const found = await shortest(target, { request, difference });
    throw new Error(
      `${target.name}, seed ${seed}, request ${result.requests}: ${found.difference}\nshortest request: ${JSON.stringify(target.bytesOf(found.request).toString('latin1'))}`,
    );
  }
  return result;
}

interface Found<R> {
  readonly request: R;
  readonly difference: string;
}

/** Leaves out parts of the request as long as the result still shows a difference. */
async function shortest<R>(target: FuzzTarget<R>, found: Found<R>): Promise<Found<R>> {
  let tries = 0;
  const next = async (than: Found<R>): Promise<Found<R> | undefined> => {
    for (const request of target.smaller(than.request, () => `shorter-${++tries}`)) {
      const { difference } = await target.check(request);
      if (difference !== undefined) return { request, difference };
    }
    return undefined;
  };
  let best = found;
  for (let smaller = await next(best); smaller !== undefined; smaller = await next(best)) best = smaller;
  return best;
}
