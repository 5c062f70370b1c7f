import { expect, it } from 'vitest';
import { activeMs, DEADLINE_EXCEEDED } from './deadline.ts';
import { podStatus } from './status.ts';
import { ended, NOW, podOf, recordOf, running } from './testing.ts';

const withDeadline = (activeDeadlineSeconds?: number) => {
  const pod = podOf({ restartPolicy: 'Never' });
  return { ...pod, spec: { ...pod.spec!, activeDeadlineSeconds } };
};

const observed = {
  hostIP: '127.64.0.1',
  isStarted: () => true,
  isReady: () => true,
  ending: false,
  now: NOW,
};

it('counts from the start of the pod', () => {
  expect(activeMs(withDeadline(5), recordOf(), NOW + 2_000)).toBe(3_000);
  expect(activeMs(withDeadline(5), recordOf(), NOW + 5_000)).toBe(0);
  expect(activeMs(withDeadline(5), recordOf(), NOW + 60_000)).toBe(0);
  expect(activeMs(withDeadline(), recordOf(), NOW + 60_000)).toBeUndefined();
});

it('is never longer than a timer can wait', () => {
  expect(activeMs(withDeadline(2 ** 31 - 1), recordOf(), NOW)).toBe(2 ** 31 - 1);
});

it('fails the pod when its containers have ended, whatever their exit codes are', () => {
  const stopping = { ...recordOf({ main: running }), expired: true };
  expect(podStatus(withDeadline(5), { ...observed, record: stopping })).toMatchObject({ phase: 'Running' });
  for (const exitCode of [0, 143]) {
    const record = { ...recordOf({ main: ended(exitCode) }), expired: true };
    expect(podStatus(withDeadline(5), { ...observed, record, ending: true })).toMatchObject({
      phase: 'Failed',
      ...DEADLINE_EXCEEDED,
    });
  }
});

it('does not change a pod that has succeeded', () => {
  const record = recordOf({ main: ended(0) });
  const status = podStatus(withDeadline(5), { ...observed, record, now: NOW + 60_000 });
  expect(status.phase).toBe('Succeeded');
  expect(status.reason).toBeUndefined();
});
