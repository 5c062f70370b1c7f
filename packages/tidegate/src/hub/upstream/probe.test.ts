import { settle, VirtualClock } from '@tidegate/kube/testing';
import { describe, expect, it } from 'vitest';
import { NotReadyError, type ProbeOutcome, type ProbeTarget, probe } from './probe.ts';

const LIMITS = { timeoutMs: 1_000, hungMs: 5_000 };

/** A server whose responses a test controls. */
class Target implements ProbeTarget {
  readonly asked: string[] = [];
  lastReceived = Number.NEGATIVE_INFINITY;
  answerOld: (error?: Error) => void = () => {};
  answerNew: (error?: Error) => void = () => {};
  connect: () => void = () => {};

  askOverOld(signal: AbortSignal): Promise<void> {
    this.asked.push('old');
    return this.#ask(signal, (answer) => {
      this.answerOld = answer;
    });
  }

  askOverNew(signal: AbortSignal, connected: () => void): Promise<void> {
    this.asked.push('new');
    this.connect = connected;
    return this.#ask(signal, (answer) => {
      this.answerNew = answer;
    });
  }

  receivedAt(): number {
    return this.lastReceived;
  }

  #ask(signal: AbortSignal, expose: (answer: (error?: Error) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
      expose((error) => (error === undefined ? resolve() : reject(error)));
    });
  }
}

describe('a probe', () => {
  function start(suspected = false) {
    const clock = new VirtualClock();
    const target = new Target();
    const state: { outcome?: ProbeOutcome } = {};
    const done = probe(target, LIMITS, suspected, clock, new AbortController().signal).then((outcome) => {
      state.outcome = outcome;
      return outcome;
    });
    return { clock, target, state, done };
  }

  it('needs one response to report alive', async () => {
    const { target, done, clock } = start();
    target.answerOld();
    expect(await done).toEqual({ health: 'alive' });
    expect(target.asked).toEqual(['old']);
    expect(clock.pending).toBe(0);
  });

  it('needs two failures to report dead, the second over a new connection', async () => {
    const { target, clock, done, state } = start();
    target.answerOld(new Error('reset'));
    await clock.advance(500);
    expect(state.outcome).toBeUndefined();
    expect(target.asked).toEqual(['old', 'new']);
    target.answerNew(new Error('refused'));
    expect(await done).toEqual({ health: 'dead', error: 'reset; refused' });
  });

  it('needs one failure if a request has failed before', async () => {
    const { target, done } = start(true);
    target.answerNew(new Error('refused'));
    expect(await done).toEqual({ health: 'dead', error: 'refused' });
    expect(target.asked).toEqual(['new']);
  });

  it('reports dead if there is no response over either connection', async () => {
    const { clock, done, state } = start();
    await clock.advance(1_999);
    expect(state.outcome).toBeUndefined();
    await clock.advance(1);
    expect(await done).toEqual({ health: 'dead', error: 'no response' });
  });

  it('does not report a slow server as dead if it accepts a connection', async () => {
    const { target, clock, done, state } = start();
    await clock.advance(1_500);
    target.connect();
    await clock.advance(4_000);
    expect(state.outcome).toBeUndefined();
    target.answerOld();
    expect(await done).toEqual({ health: 'alive' });
  });

  it('does not report dead if other data arrives', async () => {
    const { target, clock, done } = start();
    await clock.advance(900);
    target.lastReceived = clock.monotonic();
    await clock.advance(100);
    expect(await done).toEqual({ health: 'alive' });
  });

  it('reports dead if the server accepts a connection but never answers', async () => {
    const { target, clock, done } = start();
    await clock.advance(1_500);
    target.connect();
    await clock.advance(6_000);
    expect(await done).toEqual({ health: 'dead', error: 'no response' });
  });

  it('reports stale if only existing connections do not work', async () => {
    const { target, clock, done } = start();
    await clock.advance(1_200);
    target.answerNew();
    expect(await done).toEqual({ health: 'stale' });
  });

  it('reports dead if the server is not ready, although other data arrives', async () => {
    const { target, clock, done } = start();
    await settle();
    await clock.advance(1);
    target.lastReceived = clock.monotonic();
    target.answerOld(new NotReadyError('500 etcd failed'));
    await clock.advance(300);
    target.answerNew(new NotReadyError('500 etcd failed'));
    expect(await done).toMatchObject({ health: 'dead' });
  });
});
