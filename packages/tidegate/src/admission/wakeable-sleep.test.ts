import { VirtualClock } from '@tidegate/kube/testing';
import { describe, expect, it } from 'vitest';
import { WakeableSleep } from './wakeable-sleep.ts';

describe('WakeableSleep', () => {
  const setup = () => {
    const clock = new VirtualClock();
    const wakeable = new WakeableSleep(clock);
    const stop = new AbortController();
    const woken: (number | boolean)[] = [];
    const start = clock.now();
    const sleeper = async (): Promise<void> => {
      while (await wakeable.sleep(60_000, stop.signal)) woken.push(clock.now() - start);
      woken.push(false);
    };
    return { clock, wakeable, stop, woken, running: sleeper() };
  };

  it('sleeps for the whole time if it is not woken', async () => {
    const { clock, stop, woken, running } = setup();
    await clock.advance(120_000);
    stop.abort();
    await running;
    expect(woken).toEqual([60_000, 120_000, false]);
    expect(clock.pending).toBe(0);
  });

  it('wakes once for calls that are close together', async () => {
    const { clock, wakeable, stop, woken, running } = setup();
    await clock.advance(1_000);
    wakeable.wake();
    await clock.advance(50);
    wakeable.wake();
    await clock.advance(10_000);
    wakeable.wake();
    await clock.advance(1_000);
    stop.abort();
    await running;
    expect(woken).toEqual([1_100, 11_150, false]);
  });
});
