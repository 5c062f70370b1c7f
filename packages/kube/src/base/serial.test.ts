import { expect, it } from 'vitest';
import { Serial } from './serial.ts';

it('runs one task after the other, also after a failure, and reports each outcome to its caller', async () => {
  const serial = new Serial();
  const order: string[] = [];
  const slow = serial.run(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    order.push('slow');
    return 1;
  });
  const failing = serial.run(async () => {
    order.push('failing');
    throw new Error('no');
  });
  const last = serial.run(async () => order.push('last'));
  await expect(failing).rejects.toThrow('no');
  expect(await slow).toBe(1);
  await serial.idle();
  expect(order).toEqual(['slow', 'failing', 'last']);
  await last;
});
