import { ApiStatusError, ConnectionError, DeadlineError, statusOf } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { beforeEach, expect, it } from 'vitest';
import { untilAccepted } from './retry.ts';

const refused = (code: number, message: string): Error => new ApiStatusError(statusOf(code, message));

let clock: VirtualClock;
let lines: string[];
let stop: AbortController;
beforeEach(() => {
  clock = new VirtualClock();
  lines = [];
  stop = new AbortController();
});

/** Fails with these errors in turn, and then succeeds. */
const attempt = (...errors: Error[]): Promise<string> =>
  untilAccepted(
    async () => {
      const error = errors.shift();
      if (error !== undefined) throw error;
      return 'done';
    },
    { what: 'create ConfigMap a', report: (line) => lines.push(line), signal: stop.signal, clock },
  );

it.each([
  ['a webhook needs too long', refused(504, 'the evaluation took longer than 4000 ms')],
  ['a webhook cannot be called', refused(500, 'failed calling webhook')],
  ['a queue is full', refused(429, 'too many requests')],
  ['the connection breaks', new ConnectionError('POST /a', new Error('socket hang up'))],
  ['there is no response', new DeadlineError('POST /a', 30_000)],
])('tries again if %s, and reports it once', async (_, error) => {
  const done = attempt(error, error, error);
  await clock.advance(5_000);
  expect(await done).toBe('done');
  expect(lines).toEqual([`cannot create ConfigMap a yet: ${error.message}; trying again`]);
  expect(clock.pending).toBe(0);
});

it.each([
  ['an invalid object', refused(422, 'spec.a: Required value')],
  ['a missing permission', refused(403, 'forbidden')],
  ['a full disk', refused(507, 'the disk is full')],
])('does not try again after %s', async (_, error) => {
  await expect(attempt(error)).rejects.toBe(error);
  expect(lines).toEqual([]);
});

it('reports the last failure if it does not pass', async () => {
  const failed = expect(attempt(...Array<Error>(1000).fill(refused(503, 'down')))).rejects.toThrow('down');
  await clock.advance(200_000);
  await failed;
  expect(clock.pending).toBe(0);
});

it('ends as soon as the cluster is asked to stop', async () => {
  const failed = expect(attempt(refused(503, 'down'))).rejects.toThrow('stopping');
  await clock.advance(0);
  stop.abort(new Error('stopping'));
  await failed;
  expect(clock.pending).toBe(0);
});
