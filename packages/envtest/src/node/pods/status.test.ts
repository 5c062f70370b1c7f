import type { Pod } from '@tidegate/kube';
import { describe, expect, test } from 'vitest';
import { covers, statusPatch } from './patch.ts';
import type { ContainerRecord } from './record.ts';
import { type PodStatus, podStatus } from './status.ts';
import { ended, NOW, podOf, recordOf, running, type Shape, waiting } from './testing.ts';

interface Seen {
  started?: boolean;
  ready?: boolean;
  ending?: boolean;
  now?: number;
}

const statusOf = (
  pod: Pod,
  known: Record<string, ContainerRecord>,
  { started = true, ready = true, ending = false, now = NOW }: Seen = {},
): PodStatus =>
  podStatus(pod, {
    record: recordOf(known),
    hostIP: '127.64.0.1',
    isStarted: () => started,
    isReady: () => ready,
    ending,
    now,
  });

const conditionOf = (status: PodStatus, type: string) =>
  status.conditions?.find((condition) => condition.type === type);

describe('phase', () => {
  const cases: [string, Shape, Record<string, ContainerRecord>, Seen][] = [
    ['Pending', {}, {}, {}],
    ['Pending', { init: ['i'] }, { i: running }, {}],
    ['Pending', { main: ['a', 'b'] }, { a: running, b: waiting }, {}],
    ['Running', {}, { main: running }, {}],
    ['Running', {}, { main: ended(0) }, {}],
    ['Running', {}, { main: ended(1, 3) }, {}],
    ['Running', { restartPolicy: 'OnFailure' }, { main: ended(1) }, {}],
    ['Succeeded', { restartPolicy: 'OnFailure' }, { main: ended(0) }, {}],
    ['Failed', { restartPolicy: 'Never' }, { main: ended(1) }, {}],
    ['Running', { main: ['a', 'b'], restartPolicy: 'Never' }, { a: ended(1), b: running }, {}],
    ['Failed', { main: ['a', 'b'], restartPolicy: 'Never' }, { a: ended(1), b: ended(0) }, {}],
    ['Failed', { init: ['i'], restartPolicy: 'Never' }, { i: ended(1) }, {}],
    ['Succeeded', {}, { main: ended(0) }, { ending: true }],
    ['Failed', {}, { main: ended(143) }, { ending: true }],
  ];
  test.each(cases)('%s: %j', (phase, shape, known, seen) => {
    expect(statusOf(podOf(shape), known, seen).phase).toBe(phase);
  });

  test('that is final does not change', () => {
    const pod: Pod = { ...podOf({}), status: { phase: 'Failed', reason: 'Evicted' } };
    expect(statusOf(pod, { main: running }).phase).toBe('Failed');
  });
});

describe('containers', () => {
  test('wait with a reason, and show how the previous attempt ended', () => {
    const [status] = statusOf(podOf({}), { main: ended(1, 3) }).containerStatuses!;
    expect(status?.state).toEqual({
      waiting: {
        reason: 'CrashLoopBackOff',
        message: 'back-off 20s restarting failed container=main pod=web_shop(u-1)',
      },
    });
    expect(status?.lastState?.terminated?.exitCode).toBe(1);
  });

  test('are created, or wait for init containers', () => {
    const reasons = (shape: Shape) =>
      statusOf(podOf(shape), {}).containerStatuses!.map(({ state }) => state?.waiting?.reason);
    expect(reasons({})).toEqual(['ContainerCreating']);
    expect(reasons({ init: ['i'] })).toEqual(['PodInitializing']);
  });

  test('with an absent image show the error first, then the back-off', () => {
    const failure = { reason: 'ErrImagePull', message: 'not here', attempts: 1, at: NOW, retryAt: NOW + 1e4 };
    const known = { main: { ...waiting, state: { type: 'waiting' as const, failure } } };
    const reasonAt = (now: number) =>
      statusOf(podOf({}), known, { now }).containerStatuses![0]?.state?.waiting;
    expect(reasonAt(NOW)).toEqual({ reason: 'ErrImagePull', message: 'not here' });
    expect(reasonAt(NOW + 5_000)?.reason).toBe('ImagePullBackOff');
  });

  test('are ready when they run, have started, and their probe succeeds', () => {
    const ready = (seen: Seen) => statusOf(podOf({}), { main: running }, seen).containerStatuses![0]!.ready;
    expect(ready({})).toBe(true);
    expect(ready({ started: false })).toBe(false);
    expect(ready({ ready: false })).toBe(false);
  });
});

describe('conditions', () => {
  test('name the containers that are not ready', () => {
    const status = statusOf(podOf({ main: ['a', 'b'] }), { a: running, b: waiting }, {});
    expect(conditionOf(status, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [b]',
    });
    expect(conditionOf(statusOf(podOf({ init: ['i', 'j'] }), {}), 'Initialized')).toMatchObject({
      status: 'False',
      message: 'containers with incomplete status: [i j]',
    });
  });

  test('keep the time of their last change', () => {
    const before = statusOf(podOf({}), { main: running });
    const pod: Pod = { ...podOf({}), status: before };
    const later = statusOf(pod, { main: running }, { now: NOW + 60_000, ready: false });
    expect(conditionOf(later, 'Initialized')?.lastTransitionTime).toBe('2026-01-01T00:00:00Z');
    expect(conditionOf(later, 'Ready')?.lastTransitionTime).toBe('2026-01-01T00:01:00Z');
  });

  test('wait for readiness gates', () => {
    const pod = podOf({});
    pod.spec!.readinessGates = [{ conditionType: 'example.com/ok' }];
    const ready = (status?: string) =>
      conditionOf(
        statusOf(
          status === undefined
            ? pod
            : { ...pod, status: { conditions: [{ type: 'example.com/ok', status }] } },
          { main: running },
        ),
        'Ready',
      );
    expect(ready()).toMatchObject({ status: 'False', reason: 'ReadinessGatesNotReady' });
    expect(ready('False')?.message).toBe(
      'the status of pod readiness gate "example.com/ok" is not "True", but False',
    );
    expect(ready('True')).toMatchObject({ status: 'True' });
  });
});

describe('the patch of a status', () => {
  test('is undefined when the server has everything, even with additions', () => {
    const status = statusOf(podOf({}), { main: running });
    const stored = { ...status, qosClass: 'BestEffort' } as PodStatus;
    expect(statusPatch({ ...podOf({}), status: stored }, status)).toBeUndefined();
  });

  test('contains the differences, and nulls for removed fields of conditions', () => {
    const before = statusOf(podOf({}), { main: running }, { ready: false });
    const after = statusOf({ ...podOf({}), status: before }, { main: running });
    expect(statusPatch({ ...podOf({}), status: before }, after)).toEqual({
      metadata: { uid: 'u-1' },
      status: {
        containerStatuses: after.containerStatuses,
        conditions: ['Ready', 'ContainersReady'].map((type) => ({
          type,
          status: 'True',
          reason: null,
          message: null,
          lastTransitionTime: '2026-01-01T00:00:00Z',
        })),
      },
    });
  });

  test.each([
    [{ a: 1, b: 2 }, { a: 1 }, true],
    [{ a: 1 }, { a: 1, b: undefined }, true],
    [{ a: 1, b: 2 }, { a: 1, b: null }, false],
    [undefined, {}, true],
    [undefined, { a: 1 }, false],
    [[1, 2], [1], false],
    [[{ a: 1, x: 1 }], [{ a: 1 }], true],
  ])('%j covers %j: %j', (current, wanted, expected) => {
    expect(covers(current, wanted)).toBe(expected);
  });
});
