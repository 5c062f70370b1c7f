/** Waits until nodes or front doors are ready, and reports what it waits for. */
import { type Clock, childController, systemClock } from '@tidegate/kube';
import { type NotReady, reasonText } from './not-ready.ts';
import type { Reporter } from './report.ts';

/** Long enough for a busy machine. `up` then reports what is not ready and keeps running. */
const TIMEOUT_MS = 180_000;
/** A wait of this length is worth an explanation. */
const EXPLAIN_MS = 5_000;

export interface Awaited {
  names: readonly string[];
  /** Calls `onReady` with a name and a line to report for each; resolves after the last. */
  wait(onReady: (name: string, line: string) => void, signal: AbortSignal): Promise<void>;
  explain(name: string): Promise<NotReady>;
  reporter: Reporter;
  signal: AbortSignal;
  timeoutMs?: number;
  clock?: Clock;
}

/** Resolves to what is not ready when the time is over, each with the reason. */
export async function untilReady(awaited: Awaited): Promise<NotReady[]> {
  const { names, wait, explain, reporter, signal, timeoutMs = TIMEOUT_MS, clock = systemClock } = awaited;
  const waiting = new Set(names);
  const { controller, release } = childController(signal);
  const cancelTimeout = clock.after(timeoutMs, () => controller.abort());
  const stopExplaining = explainAtIntervals(
    clock,
    async () => {
      const [first] = waiting;
      return first === undefined ? undefined : reasonText(await explain(first));
    },
    reporter,
  );
  const onReady = (name: string, line: string): void => {
    waiting.delete(name);
    reporter.step(line);
  };
  try {
    await wait(onReady, controller.signal);
  } catch (error) {
    if (!controller.signal.aborted) throw error;
  } finally {
    cancelTimeout();
    stopExplaining();
    release();
  }
  return signal.aborted ? [] : Promise.all([...waiting].map(explain));
}

/** Reports the reason of the wait when it is another one than before. Returns a function that ends this. */
function explainAtIntervals(
  clock: Clock,
  explain: () => Promise<string | undefined>,
  reporter: Reporter,
): () => void {
  let last: string | undefined;
  let isOver = false;
  let cancel = (): void => {};
  const schedule = (): void => {
    cancel = clock.after(EXPLAIN_MS, async () => {
      const reason = await explain();
      if (isOver) return;
      if (reason !== undefined && reason !== last) reporter.step(`waiting for ${reason}`);
      last = reason;
      schedule();
    });
  };
  schedule();
  return () => {
    isOver = true;
    cancel();
  };
}
