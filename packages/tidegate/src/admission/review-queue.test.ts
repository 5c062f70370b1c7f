import { describe, expect, it } from 'vitest';
import { QueueFullError, ReviewQueue } from './review-queue.ts';

describe('the queue of reviews', () => {
  it('lets tenants take turns', async () => {
    const queue = new ReviewQueue({ mostPerTenant: 10, most: 100 });
    const order: string[] = [];
    const evaluate = (name: string) => () => void order.push(name);
    await Promise.all([
      ...['a1', 'a2', 'a3', 'a4'].map((name) => queue.run('a', evaluate(name))),
      queue.run('b', evaluate('b1')),
      queue.run('c', evaluate('c1')),
    ]);
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'a4']);
  });

  it('lets others run while a long review gives way, also if the queue is full', async () => {
    const queue = new ReviewQueue({ mostPerTenant: 1, most: 3 });
    const order: string[] = [];
    const long = queue.run('a', async () => {
      for (const part of ['a1', 'a2', 'a3']) {
        order.push(part);
        await queue.turn('a');
      }
    });
    await Promise.all([
      long,
      ...['b', 'c'].map((name) => queue.run(name, () => void order.push(name))),
      queue.run('a', () => void order.push('next')),
    ]);
    expect(order.slice(0, 4)).toEqual(['a1', 'b', 'c', 'next']);
    expect(order.slice(4)).toEqual(['a2', 'a3']);
  });

  it('does not wait for a review that waits for the API server', async () => {
    const queue = new ReviewQueue({ mostPerTenant: 10, most: 100 });
    let answer = (): void => undefined;
    const slow = queue.run(
      'a',
      () =>
        new Promise<string>((resolve) => {
          answer = () => resolve('late');
        }),
    );
    expect(await queue.run('b', () => 'soon')).toBe('soon');
    answer();
    expect(await slow).toBe('late');
  });

  it('refuses reviews of a tenant that has too many, but not those of others', async () => {
    const queue = new ReviewQueue({ mostPerTenant: 2, most: 100 });
    // The first one starts immediately and does not count.
    const accepted = [1, 2, 3].map((each) => queue.run('a', () => each));
    await expect(queue.run('a', () => 4)).rejects.toThrow(QueueFullError);
    expect(await queue.run('b', () => 5)).toBe(5);
    expect(await Promise.all(accepted)).toEqual([1, 2, 3]);
  });

  it('refuses reviews when too many are waiting in total', async () => {
    const queue = new ReviewQueue({ mostPerTenant: 2, most: 2 });
    const accepted = ['a', 'b', 'c'].map((tenant) => queue.run(tenant, () => tenant));
    await expect(queue.run('d', () => 'd')).rejects.toThrow(QueueFullError);
    expect(await Promise.all(accepted)).toEqual(['a', 'b', 'c']);
  });

  it('passes on the error of a review and continues', async () => {
    const queue = new ReviewQueue({ mostPerTenant: 2, most: 2 });
    await expect(
      queue.run('a', () => {
        throw new Error('boom');
      }),
    ).rejects.toThrow('boom');
    expect(await queue.run('a', () => 1)).toBe(1);
  });
});
