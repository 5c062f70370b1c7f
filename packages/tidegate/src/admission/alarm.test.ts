import { VirtualClock } from '@tidegate/kube/testing';
import { describe, expect, it } from 'vitest';
import { Alarm } from './alarm.ts';

describe('an alarm', () => {
  const setup = () => {
    const clock = new VirtualClock();
    const alarm = new Alarm(clock);
    const stop = new AbortController();
    const woken: (number | boolean)[] = [];
    const start = clock.now();
    const sleeper = async (): Promise<void> => {
      while (await alarm.slept(60_000, stop.signal)) woken.push(clock.now() - start);
      woken.push(false);
    };
    return { clock, alarm, stop, woken, running: sleeper() };
  };

  it('lets sleep for as long as nothing happens', async () => {
    const { clock, stop, woken, running } = setup();
    await clock.advance(120_000);
    stop.abort();
    await running;
    expect(woken).toEqual([60_000, 120_000, false]);
    expect(clock.pending).toBe(0);
  });

  it('wakes once for what comes together', async () => {
    const { clock, alarm, stop, woken, running } = setup();
    await clock.advance(1_000);
    alarm.ring();
    await clock.advance(50);
    alarm.ring();
    await clock.advance(10_000);
    alarm.ring();
    await clock.advance(1_000);
    stop.abort();
    await running;
    expect(woken).toEqual([1_100, 11_150, false]);
  });
});
