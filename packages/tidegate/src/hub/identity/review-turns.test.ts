import { expect, it } from 'vitest';
import { ReviewTurns } from './review-turns.ts';

/** Reviews that end when the test says so. */
class Reviews {
  readonly turns = new ReviewTurns({ running: 4, runningPerHolder: 2, waitingPerHolder: 3 });
  /** The holders of running reviews, in the order in which they started. */
  readonly running: string[] = [];
  readonly #ends: (() => void)[] = [];

  ask(holder: string): Promise<string> {
    return this.turns.run(holder, async () => {
      this.running.push(holder);
      await new Promise<void>((resolve) => this.#ends.push(resolve));
      this.running.splice(this.running.indexOf(holder), 1);
      return holder;
    });
  }

  async endFirst(): Promise<void> {
    this.#ends.shift()?.();
    await new Promise(setImmediate);
  }
}

it('limits the running and waiting reviews of one holder', async () => {
  const reviews = new Reviews();
  const accepted = Array.from({ length: 5 }, () => reviews.ask('a'));
  await new Promise(setImmediate);
  expect(reviews.running).toEqual(['a', 'a']);
  await expect(reviews.ask('a')).rejects.toMatchObject({
    status: { code: 429, details: { retryAfterSeconds: 1 } },
  });
  for (let left = 5; left > 0; left--) {
    expect(reviews.running).toHaveLength(Math.min(2, left));
    await reviews.endFirst();
  }
  expect(await Promise.all(accepted)).toEqual(['a', 'a', 'a', 'a', 'a']);
});

it('lets holders take turns', async () => {
  const reviews = new Reviews();
  for (const holder of ['a', 'a', 'a', 'a', 'a', 'b', 'b', 'b', 'c']) void reviews.ask(holder);
  await new Promise(setImmediate);
  expect(reviews.running).toEqual(['a', 'a', 'b', 'b']);
  await reviews.endFirst();
  expect(reviews.running).toEqual(['a', 'b', 'b', 'a']);
  await reviews.endFirst();
  expect(reviews.running.toSorted()).toEqual(['a', 'b', 'b', 'c']);
});

it('frees the place of a review that fails', async () => {
  const { turns } = new Reviews();
  const fail = () => turns.run('a', () => Promise.reject(new Error('no answer')));
  for (let i = 0; i < 10; i++) await expect(fail()).rejects.toThrow('no answer');
  expect(await turns.run('a', async () => 'done')).toBe('done');
});
