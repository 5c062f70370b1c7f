import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Lanes } from './lanes.ts';

test('runs a limited number at once and the others in order, also after a failure', async () => {
  const lanes = new Lanes(2);
  const order: number[] = [];
  let going = 0;
  let most = 0;
  const all = [0, 1, 2, 3, 4].map((i) =>
    lanes.run(async () => {
      order.push(i);
      most = Math.max(most, ++going);
      await turn();
      going--;
      if (i === 1) throw new Error('one fails');
      return i;
    }),
  );
  const results = await Promise.allSettled(all);
  expect(order).toEqual([0, 1, 2, 3, 4]);
  expect(most).toBe(2);
  expect(results.map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ]);
});
