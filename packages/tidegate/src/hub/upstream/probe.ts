import { aborted, type Clock, childController, sleep } from '@tidegate/kube';
import { describeError } from './errors.ts';

/** How to probe a server. */
export interface ProbeTarget {
  /** Requests the readiness of the server over an existing connection, or over a new one if there is none. */
  askOverOld(signal: AbortSignal): Promise<void>;
  /**
   * Requests the readiness over a new connection. `connected` is called when the connection, including TLS,
   * is established.
   */
  askOverNew(signal: AbortSignal, connected: () => void): Promise<void>;
  /** Monotonic time at which any data was last received from the server. */
  receivedAt(): number;
}

export interface ProbeLimits {
  /** How long to wait for a response, in milliseconds. */
  timeoutMs: number;
  /** How long to wait for a response if the server has established a connection, in milliseconds. */
  hungMs: number;
}

export type ProbeOutcome =
  | { health: 'alive' }
  /** New connections work, but existing ones do not, for example after a NAT gateway lost its state. */
  | { health: 'stale' }
  | { health: 'dead'; error: string };

/** The server answered that it is not ready. */
export class NotReadyError extends Error {}

/** The wait before the second attempt, in which a server may complete its restart. */
const SECOND_ATTEMPT_MS = 250;

/**
 * Determines whether a server works. It takes two consecutive failures to call it dead, the second of them
 * over a new connection. If `suspected` is true, a failed request counts as the first failure.
 *
 * A slow server is not dead. If any data arrives from the server during the probe, also for another request,
 * it is alive, unless it reports that it is not ready. A server that accepts a new connection gets `hungMs`
 * to answer.
 */
export async function probe(
  target: ProbeTarget,
  { timeoutMs, hungMs }: ProbeLimits,
  suspected: boolean,
  clock: Clock,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const { controller, release } = childController(signal);
  const startedAt = clock.monotonic();
  const received = (): boolean => target.receivedAt() > startedAt;
  const asked: Promise<'old' | 'new'>[] = [];
  const within = (ms: number, response: Promise<'old' | 'new'>): Promise<Outcome<'old' | 'new'>> =>
    firstOf(clock, ms, response, controller.signal);
  try {
    let silent = false;
    if (!suspected) {
      asked.push(target.askOverOld(controller.signal).then(() => 'old'));
      const first = await within(timeoutMs, asked[0]!);
      if (first.result === 'answer' || (received() && !isNotReady(first))) return { health: 'alive' };
      silent = first.result === 'silence';
      if (!silent) await sleep(clock, SECOND_ATTEMPT_MS, signal);
    }
    let connected = false;
    const onConnected = (): void => {
      connected = true;
    };
    asked.push(target.askOverNew(controller.signal, onConnected).then(() => 'new'));
    // The first request continues: a response to either of them is enough.
    let second = await within(timeoutMs, Promise.any(asked));
    if (second.result === 'silence' && connected && !received()) {
      second = await within(hungMs, Promise.any(asked));
    }
    if (second.result === 'answer') {
      return { health: second.value === 'new' && silent && !received() ? 'stale' : 'alive' };
    }
    if (received() && !isNotReady(second)) return { health: 'alive' };
    return {
      health: 'dead',
      error: second.result === 'failure' ? describeError(second.error) : 'no response',
    };
  } finally {
    release();
    controller.abort();
    // Requests that are still pending fail now. Their errors are of no interest.
    for (const promise of asked) promise.catch(() => {});
  }
}

type Outcome<V> =
  | { result: 'answer'; value: V }
  | { result: 'failure'; error: unknown }
  | { result: 'silence' };

function isNotReady(outcome: Outcome<unknown>): boolean {
  if (outcome.result !== 'failure') return false;
  const { error } = outcome;
  const errors: unknown[] = error instanceof AggregateError ? error.errors : [error];
  return errors.some((e) => e instanceof NotReadyError);
}

/**
 * The result of `answer` after at most `ms`. A request that is still waiting for its connection does not
 * react to the abort signal, so this function does.
 */
function firstOf<V>(clock: Clock, ms: number, answer: Promise<V>, signal: AbortSignal): Promise<Outcome<V>> {
  return new Promise((resolve) => {
    const settle = (outcome: Outcome<V>): void => {
      cancel();
      resolve(outcome);
    };
    const cancel = clock.after(ms, () => resolve({ result: 'silence' }));
    aborted(signal).then(() => settle({ result: 'silence' }));
    answer.then(
      (value) => settle({ result: 'answer', value }),
      (error: unknown) => settle({ result: 'failure', error }),
    );
  });
}
