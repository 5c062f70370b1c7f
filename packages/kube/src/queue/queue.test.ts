import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Metrics } from '../base/metrics.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { type QueueOptions, WorkQueue } from './queue.ts';
import { TokenBucket } from './token-bucket.ts';

function makeQueue(options: Partial<QueueOptions> = {}): { queue: WorkQueue; clock: VirtualClock } {
  const clock = new VirtualClock();
  return { clock, queue: new WorkQueue({ name: 'q', clock, random: () => 1, ...options }) };
}

/** A key, if one is ready now. */
async function takeNow(queue: WorkQueue): Promise<string | undefined> {
  return queue.depth === 0 ? undefined : queue.next();
}

describe('work queue', () => {
  it('returns each key once, in the order of insertion', async () => {
    const { queue } = makeQueue();
    for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key);
    expect([await queue.next(), await queue.next(), await queue.next()]).toEqual(['a', 'b', 'c']);
    expect(queue.depth).toBe(0);
  });

  it('does not return a key that is being processed; it follows once more afterwards', async () => {
    const { queue } = makeQueue();
    queue.add('a');
    await queue.next();
    queue.add('a');
    queue.add('a');
    expect(queue.depth).toBe(0);
    queue.done('a');
    expect(await queue.next()).toBe('a');
    queue.done('a');
    expect(queue.depth).toBe(0);
  });

  it('does not starve other keys next to a key that is always busy', async () => {
    const { queue } = makeQueue();
    queue.add('hot');
    for (let i = 0; i < 5; i++) queue.add(`k${i}`);
    const order: string[] = [];
    for (let i = 0; i < 10; i++) {
      const key = (await queue.next())!;
      order.push(key);
      queue.add('hot');
      queue.done(key);
    }
    expect(order.slice(0, 7)).toEqual(['hot', 'k0', 'k1', 'k2', 'k3', 'k4', 'hot']);
  });

  it('uses the earliest of several delays', async () => {
    const { queue, clock } = makeQueue();
    queue.addAfter('a', 500);
    queue.addAfter('a', 100);
    queue.addAfter('a', 900);
    await clock.advance(99);
    expect(queue.depth).toBe(0);
    await clock.advance(1);
    expect(await takeNow(queue)).toBe('a');
    queue.done('a');
    await clock.advance(10_000);
    expect(queue.depth).toBe(0);
  });

  it('backs off per key, until forgotten', async () => {
    const { queue, clock } = makeQueue({ backoff: { baseMs: 10, maxMs: 50 } });
    const waits: number[] = [];
    for (let i = 0; i < 5; i++) {
      queue.addRateLimited('a');
      const before = clock.now();
      while (queue.depth === 0) await clock.advance(1);
      waits.push(clock.now() - before);
      queue.done((await queue.next())!);
    }
    expect(waits).toEqual([10, 20, 40, 50, 50]);
    expect(queue.failures('a')).toBe(5);
    queue.forget('a');
    expect(queue.failures('a')).toBe(0);
  });

  it('limits the retries of all keys together', async () => {
    const { queue, clock } = makeQueue({
      backoff: { baseMs: 1, maxMs: 1 },
      retryRate: { perSecond: 10, burst: 2 },
    });
    for (let i = 0; i < 5; i++) queue.addRateLimited(`k${i}`);
    await clock.advance(1);
    expect(queue.depth).toBe(2);
    await clock.advance(100);
    expect(queue.depth).toBe(3);
    await clock.advance(200);
    expect(queue.depth).toBe(5);
  });

  it('wakes all waiting workers on shutdown, and accepts no more keys', async () => {
    const { queue, clock } = makeQueue();
    const waiting = [queue.next(), queue.next()];
    queue.addAfter('later', 100);
    queue.shutDown();
    expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
    queue.add('a');
    queue.addAfter('b', 1);
    expect(await queue.next()).toBeUndefined();
    expect(clock.pending).toBe(0);
  });

  it('exports metrics under the names of client-go', async () => {
    const metrics = new Metrics();
    const { queue, clock } = makeQueue({ metrics });
    queue.add('a');
    queue.add('b');
    await clock.advance(2_000);
    await queue.next();
    await clock.advance(3_000);
    const running = await metrics.scrape();
    expect(running).toContain('workqueue_depth{name="q"} 1');
    expect(running).toContain('workqueue_adds_total{name="q"} 2');
    expect(running).toContain('workqueue_queue_duration_seconds_sum{name="q"} 2');
    expect(running).toContain('workqueue_unfinished_work_seconds{name="q"} 3');
    expect(running).toContain('workqueue_longest_running_processor_seconds{name="q"} 3');
    queue.done('a');
    queue.addRateLimited('a');
    const after = await metrics.scrape();
    expect(after).toContain('workqueue_work_duration_seconds_sum{name="q"} 3');
    expect(after).toContain('workqueue_retries_total{name="q"} 1');
    expect(after).toContain('workqueue_unfinished_work_seconds{name="q"} 0');
  });
});

/** The expected behavior, implemented as simply as possible: linear scans, no timers. */
class Model {
  ready: string[] = [];
  working = new Set<string>();
  again: string[] = [];
  delays: { key: string; at: number }[] = [];
  now = 0;

  add(key: string): void {
    this.delays = this.delays.filter((d) => d.key !== key);
    if (this.ready.includes(key) || this.again.includes(key)) return;
    if (this.working.has(key)) this.again.push(key);
    else this.ready.push(key);
  }

  addAfter(key: string, ms: number): void {
    if (ms <= 0) {
      this.add(key);
      return;
    }
    if (this.ready.includes(key) || this.again.includes(key)) return;
    const known = this.delays.find((d) => d.key === key);
    if (known !== undefined && known.at <= this.now + ms) return;
    this.delays = [...this.delays.filter((d) => d !== known), { key, at: this.now + ms }];
  }

  take(): string | undefined {
    const key = this.ready.shift();
    if (key !== undefined) this.working.add(key);
    return key;
  }

  done(key: string): void {
    this.working.delete(key);
    if (!this.again.includes(key)) return;
    this.again = this.again.filter((k) => k !== key);
    this.ready.push(key);
  }

  advance(ms: number): void {
    for (let t = 0; t < ms; t++) {
      this.now++;
      for (const { key } of this.delays.filter((d) => d.at === this.now)) this.add(key);
    }
  }
}

describe('work queue against a naive model', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  const step = fc.oneof(
    fc.record({ do: fc.constant('add' as const), key }),
    fc.record({ do: fc.constant('addAfter' as const), key, ms: fc.nat(20) }),
    fc.record({ do: fc.constant('take' as const) }),
    fc.record({ do: fc.constant('done' as const), key }),
    fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 15 }) }),
  );

  it('behaves the same', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { queue, clock } = makeQueue();
        const model = new Model();
        for (const s of steps) {
          if (s.do === 'add') {
            queue.add(s.key);
            model.add(s.key);
          } else if (s.do === 'addAfter') {
            queue.addAfter(s.key, s.ms);
            model.addAfter(s.key, s.ms);
          } else if (s.do === 'take') {
            const wanted = model.take();
            expect(await takeNow(queue)).toBe(wanted);
          } else if (s.do === 'done') {
            if (!model.working.has(s.key)) continue;
            queue.done(s.key);
            model.done(s.key);
          } else {
            await clock.advance(s.ms);
            model.advance(s.ms);
          }
          expect(queue.depth).toBe(model.ready.length);
        }
        await clock.advance(100);
        model.advance(100);
        const rest: (string | undefined)[] = [];
        while (queue.depth > 0) rest.push(await queue.next());
        expect(rest).toEqual(model.ready);
      }),
      { numRuns: 200 },
    );
  });
});

describe('token bucket', () => {
  it('never lets through more than burst plus rate times time', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(3_000), { maxLength: 50 }), async (pauses) => {
        const clock = new VirtualClock(0);
        const bucket = new TokenBucket(clock, { burst: 3, perSecond: 2 });
        let taken = 0;
        for (const pause of pauses) {
          if (bucket.tryTake()) taken++;
          await clock.advance(pause);
          expect(taken).toBeLessThanOrEqual(3 + (2 * clock.now()) / 1000 + 1e-9);
        }
      }),
      { numRuns: 30 },
    );
  });
});
