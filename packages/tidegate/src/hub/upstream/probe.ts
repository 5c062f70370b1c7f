import { aborted, type Clock, childController, sleep } from '@tidegate/kube';
import { describeError } from './errors.ts';

export interface ProbeTarget {
  /** Asks whether the server is ready, over a connection that is there already if there is one. */
  askOverOld(signal: AbortSignal): Promise<void>;
  /** Asks over a new connection; `connected` is called when it stands, TLS included. */
  askOverNew(signal: AbortSignal, connected: () => void): Promise<void>;
  /** When something of an answer to any request arrived the last time; monotonic. */
  heardAt(): number;
}

export interface ProbeLimits {
  /** How long silence is just silence. */
  patienceMs: number;
  /** How long a server may take to answer that shakes hands. */
  hungMs: number;
}

export type ProbeOutcome =
  | { health: 'alive' }
  /** The server answers, but not over the connections that are open: their way is gone. */
  | { health: 'stale' }
  | { health: 'dead'; error: string };

/** The server answers, and says that it can not serve. */
export class NotReadyError extends Error {}

/** A server that restarts may be back before the second look. */
const SECOND_LOOK_MS = 250;

/**
 * Is the server there? It takes two failures in a row to say no, the second of them over a new connection. `doubted`:
 * the first was seen already, by a request. Slow is not dead: whoever has sent anything to anyone meanwhile is there,
 * and whoever completes a handshake has `hungMs` to go on.
 */
export async function probe(
  target: ProbeTarget,
  { patienceMs, hungMs }: ProbeLimits,
  doubted: boolean,
  clock: Clock,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const { controller, release } = childController(signal);
  const startedAt = clock.monotonic();
  const heard = (): boolean => target.heardAt() > startedAt;
  const asked: Promise<'old' | 'new'>[] = [];
  const within = (ms: number, answer: Promise<'old' | 'new'>): Promise<Outcome<'old' | 'new'>> =>
    firstOf(clock, ms, answer, controller.signal);
  try {
    let silent = false;
    if (!doubted) {
      asked.push(target.askOverOld(controller.signal).then(() => 'old'));
      const first = await within(patienceMs, asked[0]!);
      if (first.result === 'answer' || (heard() && !saysNo(first))) return { health: 'alive' };
      silent = first.result === 'silence';
      if (!silent) await sleep(clock, SECOND_LOOK_MS, signal);
    }
    let connected = false;
    const onConnected = (): void => {
      connected = true;
    };
    asked.push(target.askOverNew(controller.signal, onConnected).then(() => 'new'));
    let second = await within(patienceMs, Promise.any(asked));
    if (second.result === 'silence' && connected && !heard()) {
      second = await within(hungMs, Promise.any(asked));
    }
    if (second.result === 'answer') {
      return { health: second.value === 'new' && silent && !heard() ? 'stale' : 'alive' };
    }
    if (heard() && !saysNo(second)) return { health: 'alive' };
    return {
      health: 'dead',
      error: second.result === 'failure' ? describeError(second.error) : 'no answer',
    };
  } finally {
    release();
    controller.abort();
    // Whoever is still asked fails now, and there is nothing more to learn from it.
    for (const promise of asked) promise.catch(() => {});
  }
}

type Outcome<V> =
  | { result: 'answer'; value: V }
  | { result: 'failure'; error: unknown }
  | { result: 'silence' };

function saysNo(outcome: Outcome<unknown>): boolean {
  if (outcome.result !== 'failure') return false;
  const { error } = outcome;
  const errors: unknown[] = error instanceof AggregateError ? error.errors : [error];
  return errors.some((e) => e instanceof NotReadyError);
}

/** What comes of it within `ms`. Whoever still waits for a connection does not hear of an abort: we do. */
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
