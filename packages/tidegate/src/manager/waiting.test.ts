import { ApiStatusError, ConnectionError } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { beforeEach, expect, it } from 'vitest';
import { linesLogger } from '../../../../test/support/lines-logger.ts';
import { Waiting } from './waiting.ts';

let clock: VirtualClock;
let log: ReturnType<typeof linesLogger>;
let waiting: Waiting;
beforeEach(() => {
  clock = new VirtualClock();
  log = linesLogger();
  waiting = new Waiting('https://api:6443', { clock, log });
});

const refused = (code: number, reason: string): ApiStatusError =>
  new ApiStatusError({
    ...{ kind: 'Status', metadata: {}, apiVersion: 'v1', status: 'Failure' },
    ...{ code, reason, message: reason },
  });

it('logs within seconds that the API server has not answered, and again once a minute', async () => {
  let end = (): void => {};
  const task = waiting.during('list pools', new Promise<void>((resolve) => (end = resolve)), () => undefined);
  expect(waiting.reasons()).toEqual([
    'the API server at https://api:6443 has not answered yet (to list pools)',
  ]);
  await clock.advance(5_000);
  expect(log.lines).toHaveLength(1);
  expect(log.lines[0]).toContain('has not answered yet (to list pools); retrying');
  await clock.advance(60_000);
  expect(log.lines).toHaveLength(2);
  end();
  await task;
  expect(waiting.reasons()).toEqual([]);
  expect(clock.pending).toBe(0);
});

it.each([
  [refused(401, 'Unauthorized'), 'does not accept the credentials of the manager (401 Unauthorized): check'],
  [refused(403, 'Forbidden'), 'does not allow the manager to list pools (403 Forbidden): grant'],
  [new ConnectionError('GET /', new Error('connect ECONNREFUSED')), 'is unreachable ('],
  [refused(500, 'InternalError'), 'cannot list pools (InternalError)'],
])('reports %s in one sentence, in the log and as a reason', async (error, sentence) => {
  const task = waiting.during(
    'list pools',
    new Promise((_, reject) => clock.after(10_000, () => reject(error))),
    () => error,
  );
  expect(waiting.reasons()).toEqual([expect.stringContaining(sentence)]);
  const failed = expect(task).rejects.toBe(error);
  await clock.advance(10_000);
  await failed;
  expect(log.lines).toEqual([expect.stringContaining(sentence)]);
  expect(clock.pending).toBe(0);
});

it('reports once what two tasks wait for', async () => {
  const ends: (() => void)[] = [];
  const tasks = [1, 2].map(() =>
    waiting.during('list pools', new Promise<void>((resolve) => ends.push(resolve)), () => undefined),
  );
  expect(waiting.reasons()).toHaveLength(1);
  await clock.advance(5_000);
  expect(log.lines).toHaveLength(1);
  ends[0]?.();
  await tasks[0];
  expect(waiting.reasons()).toHaveLength(1);
  ends[1]?.();
  await tasks[1];
  expect(waiting.reasons()).toEqual([]);
});
