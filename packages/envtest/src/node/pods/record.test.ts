import { describe, expect, test } from 'vitest';
import {
  crashDelay,
  exited,
  newContainer,
  nextRestartCount,
  restartAt,
  started,
  startFailed,
} from './record.ts';
import { NOW, running } from './testing.ts';

const launch = {
  process: { pid: 7, startTicks: '9' },
  containerID: 'tidegate://2',
  image: 'any',
  imageID: 'tidegate://x',
};

describe('ends', () => {
  test.each([
    [{ code: 0 }, { exitCode: 0, reason: 'Completed' }],
    [{ code: 3 }, { exitCode: 3, reason: 'Error' }],
    [{ signal: 9 }, { exitCode: 137, reason: 'Error' }],
    [
      { signal: 15, message: 'bye' },
      { exitCode: 143, reason: 'Error', message: 'bye' },
    ],
    [{}, { exitCode: 137, reason: 'ContainerStatusUnknown' }],
  ])('%j is %j', (exit, expected) => {
    const { state } = exited(running, exit, NOW + 1000);
    expect(state.type === 'terminated' && state.terminated).toMatchObject({
      ...expected,
      startedAt: '2026-01-01T00:00:00Z',
      finishedAt: '2026-01-01T00:00:01Z',
      containerID: 'tidegate://1',
    });
  });
});

describe('the delay before a restart', () => {
  test('is 0 at first, then doubles up to five minutes', () => {
    const delays = [1, 2, 3, 4, 5, 6, 7, 8, 100].map((crashes) => crashDelay(crashes) / 1000);
    expect(delays).toEqual([0, 10, 20, 40, 80, 160, 300, 300, 300]);
  });

  test('is reset after ten minutes of running', () => {
    const crashing = { ...running, crashes: 6 };
    expect(exited(crashing, { code: 1 }, NOW + 599_000).crashes).toBe(7);
    expect(exited(crashing, { code: 1 }, NOW + 600_000).crashes).toBe(1);
  });

  test('is 0 after the agent stopped the container', () => {
    const ended = exited({ ...running, crashes: 6 }, { signal: 15 }, NOW + 1, true);
    expect(ended.crashes).toBe(6);
    expect(restartAt(ended)).toBe(0);
    expect(restartAt(started(ended, launch, NOW))).toBe(0);
  });
});

test('counts restarts from 0 and keeps the previous end', () => {
  const first = started(newContainer('any'), launch, NOW);
  expect(first).toMatchObject({ restartCount: 0, state: { type: 'running' } });
  expect(first.last).toBeUndefined();
  const second = started(exited(first, { code: 1 }, NOW + 5), launch, NOW + 10);
  expect(second).toMatchObject({ restartCount: 1, last: { exitCode: 1 } });
});

test('retries a failed start with increasing delays and keeps the previous end', () => {
  const ended = exited(running, { code: 1 }, NOW);
  const failure = { reason: 'ErrImagePull', message: 'not here' };
  const once = startFailed(ended, failure, NOW);
  const twice = startFailed(once, failure, NOW + 10_000);
  expect(once).toMatchObject({ last: { exitCode: 1 }, state: { failure: { retryAt: NOW + 10_000 } } });
  expect(twice).toMatchObject({
    last: { exitCode: 1 },
    state: { failure: { retryAt: NOW + 30_000, at: NOW } },
  });
  expect(nextRestartCount(twice)).toBe(1);
});
