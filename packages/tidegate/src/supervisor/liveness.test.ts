import { VirtualClock } from '@tidegate/kube/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { Liveness } from './liveness.ts';

let clock: VirtualClock;
let events: string[];
/** What the process does when it is asked. */
let answer: () => Promise<void>;
let liveness: Liveness;

const never = (): Promise<void> => new Promise(() => {});

beforeEach(() => {
  clock = new VirtualClock();
  events = [];
  answer = async () => {};
  liveness = new Liveness(
    {
      ask: () => {
        events.push('ask');
        return answer();
      },
      onSilent: () => void events.push('silent'),
      onAnswer: () => void events.push('answers again'),
      giveUp: () => void events.push('given up'),
    },
    clock,
  );
  liveness.start();
});

const changes = (): string[] => events.filter((event) => event !== 'ask');

describe('a process that is asked at intervals', () => {
  it('is left alone as long as it answers', async () => {
    await clock.advance(600_000);
    expect(changes()).toEqual([]);
    expect(events.length).toBeGreaterThan(100);
  });

  it('counts as unresponsive when it does not answer, and is given up once', async () => {
    answer = never;
    await clock.advance(9_000);
    expect(changes()).toEqual([]);
    await clock.advance(2_000);
    expect(changes()).toEqual(['silent']);
    expect(liveness.responding).toBe(false);
    await clock.advance(600_000);
    expect(changes()).toEqual(['silent', 'given up']);
    expect(clock.pending).toBe(0);
  });

  it('is asked again after a failed attempt, and recovers', async () => {
    answer = () => Promise.reject(new Error('connection refused'));
    await clock.advance(20_000);
    expect(changes()).toEqual(['silent']);
    answer = async () => {};
    await clock.advance(2_000);
    expect(changes()).toEqual(['silent', 'answers again']);
    expect(liveness.responding).toBe(true);
    await clock.advance(60_000);
    expect(changes()).toHaveLength(2);
  });

  it('is not asked again while an answer is pending', async () => {
    answer = never;
    await clock.advance(10_000);
    // One that was answered at the start, and the pending one.
    expect(events.filter((event) => event === 'ask')).toHaveLength(2);
  });

  it('is not judged by intervals in which the asking process did not run either', async () => {
    liveness.stop();
    answer = never;
    // Every timer of a stalled machine fires five seconds late.
    let lag = 0;
    const stalled = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic() + lag,
      after: (ms: number, fire: () => void) =>
        clock.after(ms, () => {
          lag += 5_000;
          fire();
        }),
    };
    const hooks = {
      ask: never,
      onSilent: () => {},
      onAnswer: () => {},
      giveUp: () => events.push('given up'),
    };
    const patient = new Liveness(hooks, stalled);
    patient.start();
    await clock.advance(600_000);
    expect(changes()).toEqual([]);
    patient.stop();
  });

  it('is no longer asked after a stop', async () => {
    liveness.stop();
    const before = events.length;
    await clock.advance(60_000);
    expect(events).toHaveLength(before);
    expect(clock.pending).toBe(0);
  });
});
