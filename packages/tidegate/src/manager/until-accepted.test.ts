import { ApiStatusError, ConnectionError, DeadlineError } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { expect, it } from 'vitest';
import { linesLogger } from '../../../../test/support/lines-logger.ts';
import { untilAccepted } from './until-accepted.ts';

const refused = (code: number): ApiStatusError =>
  new ApiStatusError({
    kind: 'Status',
    metadata: {},
    apiVersion: 'v1',
    status: 'Failure',
    code,
    message: `no space (${code})`,
  });

it('repeats what the API server refuses, logs the reason once, and resolves when it is accepted', async () => {
  const clock = new VirtualClock();
  const log = linesLogger();
  const outcomes = [refused(507), refused(507), refused(503)];
  const task = async (): Promise<string> => {
    const error = outcomes.shift();
    if (error !== undefined) throw error;
    return 'accepted';
  };
  const { signal } = new AbortController();
  const result = untilAccepted('install the CRDs', task, { clock, log, signal });
  for (let i = 0; i < 3; i++) await clock.advance(2_000);
  expect(await result).toBe('accepted');
  expect(log.lines.map((line) => /no space \(\d+\)/.exec(line)?.[0])).toEqual([
    'no space (507)',
    'no space (503)',
  ]);
  expect(log.lines[0]).toContain('the API server cannot install the CRDs now; retrying');
});

it('repeats what did not reach the API server', async () => {
  const clock = new VirtualClock();
  const outcomes = [
    new ConnectionError('GET /api', new Error('connect ECONNREFUSED')),
    new DeadlineError('GET /api', 32_000),
    refused(401),
  ];
  const task = async (): Promise<string> => {
    const error = outcomes.shift();
    if (error !== undefined) throw error;
    return 'accepted';
  };
  const { signal } = new AbortController();
  const result = untilAccepted('install the CRDs', task, { clock, log: linesLogger(), signal });
  for (let i = 0; i < 3; i++) await clock.advance(2_000);
  expect(await result).toBe('accepted');
});

it('does not repeat what is wrong, and ends with its signal', async () => {
  const stop = new AbortController();
  const options = { clock: new VirtualClock(), log: linesLogger(), signal: stop.signal };
  const wrong = refused(403);
  await expect(untilAccepted('x', () => Promise.reject(wrong), options)).rejects.toBe(wrong);
  const waiting = untilAccepted('x', () => Promise.reject(refused(507)), options);
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow();
});
