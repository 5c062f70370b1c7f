import type { Pod } from '@tidegate/kube';
import { expect, it } from 'vitest';
import { problemOf, summaryOf } from './pod-problems.ts';

const pod = (status: object): Pod =>
  ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, status }) as Pod;
const waiting = (reason: string, message?: string, lastState?: object): Pod =>
  pod({ containerStatuses: [{ name: 'web', state: { waiting: { reason, message } }, lastState }] });
const crashing = waiting('CrashLoopBackOff', 'back-off 40s restarting failed container', {
  terminated: { exitCode: 137, reason: 'OOMKilled' },
});

it.each<[string, Pod, object | undefined]>([
  [
    'nothing of a pod that runs',
    pod({ phase: 'Running', containerStatuses: [{ name: 'web', state: { running: {} } }] }),
    undefined,
  ],
  ['nothing of a pod that is about to start', waiting('ContainerCreating'), undefined],
  [
    'why a container crashed, without the time to wait',
    crashing,
    { reason: 'CrashLoopBackOff', message: 'container web: exit code 137, OOMKilled' },
  ],
  [
    'which image cannot be pulled',
    waiting('ImagePullBackOff', 'Back-off pulling image "web:2"'),
    { reason: 'ImagePullBackOff', message: 'container web: Back-off pulling image "web:2"' },
  ],
  [
    'why a pod cannot be scheduled',
    pod({
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes' }],
    }),
    { reason: 'Unschedulable', message: '0/3 nodes' },
  ],
  [
    'what keeps an init container from running',
    pod({
      initContainerStatuses: [
        {
          name: 'init',
          state: { waiting: { reason: 'CreateContainerConfigError', message: 'secret not found' } },
        },
      ],
    }),
    { reason: 'CreateContainerConfigError', message: 'container init: secret not found' },
  ],
  [
    'why a pod was evicted',
    pod({ phase: 'Failed', reason: 'Evicted', message: 'disk' }),
    { reason: 'Evicted', message: 'disk' },
  ],
])('reports %s', (_, object, problem) => {
  expect(problemOf(object)).toEqual(problem);
});

it('sums up the problems of the pods of a workload', () => {
  expect(summaryOf([])).toBeUndefined();
  const other = waiting('ErrImagePull', 'x'.repeat(300));
  expect(summaryOf([other, crashing, pod({}), crashing])).toEqual({
    reason: 'CrashLoopBackOff',
    message: `2 pods: CrashLoopBackOff (container web: exit code 137, OOMKilled); 1 pod: ErrImagePull (container web: ${'x'.repeat(200)}...)`,
  });
});
