import { expect, it } from 'vitest';
import { podTable } from './table.ts';
import type { ContainerStatus, Pod, PodSpec, PodStatus } from './types.ts';

const now = new Date('2026-01-01T01:00:00Z');
const ended = '2026-01-01T00:50:00Z';

function row(spec: PodSpec, status: PodStatus, metadata: object = {}): unknown[] {
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'x', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
    spec: { containers: [{ name: 'a' }], ...spec },
    status,
  };
  return podTable.slice(0, 5).map((column) => column.cell(pod, now));
}

const running = (ready = true): ContainerStatus => ({
  name: 'a',
  ready,
  restartCount: 0,
  state: { running: {} },
});

it('shows a running pod', () => {
  expect(row({}, { phase: 'Running', containerStatuses: [running()] })).toEqual([
    'x',
    '1/1',
    'Running',
    '0',
    '60m',
  ]);
});

it('shows the waiting reason and the restarts of a container', () => {
  const status: ContainerStatus = {
    name: 'a',
    restartCount: 3,
    state: { waiting: { reason: 'CrashLoopBackOff' } },
    lastState: { terminated: { exitCode: 1, finishedAt: ended } },
  };
  expect(row({}, { phase: 'Running', containerStatuses: [status] })).toEqual([
    'x',
    '0/1',
    'CrashLoopBackOff',
    '3 (10m ago)',
    '60m',
  ]);
});

it.each([
  [{ reason: 'OOMKilled', exitCode: 137 }, 'OOMKilled'],
  [{ exitCode: 3 }, 'ExitCode:3'],
  [{ exitCode: 137, signal: 9 }, 'Signal:9'],
])('shows why a container terminated: %j', (terminated, reason) => {
  const [, , status] = row(
    {},
    { phase: 'Failed', containerStatuses: [{ name: 'a', state: { terminated } }] },
  );
  expect(status).toBe(reason);
});

it.each([
  [{ waiting: { reason: 'ImagePullBackOff' } }, 'Init:ImagePullBackOff'],
  [{ waiting: { reason: 'PodInitializing' } }, 'Init:0/2'],
  [{ terminated: { exitCode: 2 } }, 'Init:ExitCode:2'],
])('shows the state of the init containers: %j', (state, reason) => {
  const spec = { initContainers: [{ name: 'i' }, { name: 'j' }] };
  const [, , status] = row(spec, { phase: 'Pending', initContainerStatuses: [{ name: 'i', state }] });
  expect(status).toBe(reason);
});

it('counts sidecars as containers', () => {
  const spec = { initContainers: [{ name: 's', restartPolicy: 'Always' }] };
  const sidecar: ContainerStatus = { name: 's', started: true, ready: true, state: { running: {} } };
  const status = { phase: 'Running', initContainerStatuses: [sidecar], containerStatuses: [running()] };
  expect(row(spec, status)[1]).toBe('2/2');
});

it('shows Running while any container is running', () => {
  const spec = { containers: [{ name: 'a' }, { name: 'b' }] };
  const done: ContainerStatus = { name: 'a', state: { terminated: { reason: 'Completed', exitCode: 0 } } };
  const status = { phase: 'Running', containerStatuses: [done, { ...running(), name: 'b' }] };
  expect(row(spec, status)[2]).toBe('NotReady');
  const conditions = [{ type: 'Ready', status: 'True' }];
  expect(row(spec, { ...status, conditions })[2]).toBe('Running');
});

it('shows Terminating for a deleted pod that is not finished', () => {
  const deleted = { deletionTimestamp: '2026-01-01T00:59:00Z' };
  expect(row({}, { phase: 'Running' }, deleted)[2]).toBe('Terminating');
  expect(row({}, { phase: 'Running', reason: 'NodeLost' }, deleted)[2]).toBe('Unknown');
  expect(row({}, { phase: 'Succeeded' }, deleted)[2]).toBe('Succeeded');
});
