import { expect, it } from 'vitest';
import { availabilityOf } from './availability.ts';

const SEEN = { observedGeneration: 2 };
const failed = [{ type: 'Failed', status: 'True', message: 'too many retries' }];
const late = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'stuck' }];

it.each<[string, string, object, object | undefined, boolean, string]>([
  ['apps/v1', 'Deployment', { replicas: 2 }, undefined, false, 'waiting for the controller'],
  [
    'apps/v1',
    'Deployment',
    { replicas: 1 },
    { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 },
    false,
    'waiting for the controller',
  ],
  [
    'apps/v1',
    'Deployment',
    { replicas: 2 },
    { ...SEEN, replicas: 3, updatedReplicas: 1, availableReplicas: 3 },
    false,
    '1 of 2 pods are updated',
  ],
  [
    'apps/v1',
    'Deployment',
    { replicas: 2 },
    { ...SEEN, replicas: 3, updatedReplicas: 2, availableReplicas: 3 },
    false,
    'old pods to terminate: 1',
  ],
  [
    'apps/v1',
    'Deployment',
    { replicas: 2 },
    { ...SEEN, replicas: 2, updatedReplicas: 2, availableReplicas: 1 },
    false,
    '1 of 2 pods are available',
  ],
  [
    'apps/v1',
    'Deployment',
    { replicas: 2 },
    { ...SEEN, replicas: 2, updatedReplicas: 2, availableReplicas: 2 },
    true,
    '2 of 2',
  ],
  [
    'apps/v1',
    'Deployment',
    {},
    { ...SEEN, replicas: 1, updatedReplicas: 1, availableReplicas: 1 },
    true,
    '1 of 1',
  ],
  // Scaled to zero (kubeedge #5061): available only when the old pods are gone.
  [
    'apps/v1',
    'Deployment',
    { replicas: 0 },
    { ...SEEN, replicas: 2, updatedReplicas: 0 },
    false,
    'old pods to terminate: 2',
  ],
  ['apps/v1', 'Deployment', { replicas: 0 }, SEEN, true, 'no pods are desired'],
  ['apps/v1', 'Deployment', { replicas: 1 }, { ...SEEN, conditions: late }, false, 'stuck'],
  ['apps/v1', 'ReplicaSet', { replicas: 2 }, { ...SEEN, availableReplicas: 2 }, true, '2 of 2'],
  ['apps/v1', 'ReplicaSet', { replicas: 2 }, SEEN, false, '0 of 2'],
  [
    'apps/v1',
    'StatefulSet',
    { replicas: 3 },
    { ...SEEN, replicas: 3, updatedReplicas: 2, availableReplicas: 3 },
    false,
    '2 of 3 pods are updated',
  ],
  [
    'apps/v1',
    'StatefulSet',
    { replicas: 3, updateStrategy: { rollingUpdate: { partition: 2 } } },
    { ...SEEN, replicas: 3, updatedReplicas: 1, availableReplicas: 3 },
    true,
    '3 of 3',
  ],
  [
    'apps/v1',
    'StatefulSet',
    { replicas: 3, updateStrategy: { type: 'OnDelete' } },
    { ...SEEN, replicas: 3, availableReplicas: 3 },
    true,
    '3 of 3',
  ],
  [
    'apps/v1',
    'StatefulSet',
    { replicas: 1 },
    { ...SEEN, replicas: 2, updatedReplicas: 2, availableReplicas: 2 },
    false,
    'excess pods to terminate: 1',
  ],
  [
    'apps/v1',
    'DaemonSet',
    {},
    { ...SEEN, desiredNumberScheduled: 2, updatedNumberScheduled: 1, numberAvailable: 2 },
    false,
    '1 of 2 pods are updated',
  ],
  [
    'apps/v1',
    'DaemonSet',
    {},
    { ...SEEN, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2 },
    true,
    '2 of 2',
  ],
  ['apps/v1', 'DaemonSet', {}, { ...SEEN, desiredNumberScheduled: 0 }, true, 'no pods are desired'],
  ['batch/v1', 'Job', { completions: 2 }, { succeeded: 1 }, false, '1 of 2 pods have succeeded'],
  ['batch/v1', 'Job', {}, { conditions: [{ type: 'Complete', status: 'True' }] }, true, 'complete'],
  ['batch/v1', 'Job', {}, { conditions: failed }, false, 'too many retries'],
  ['batch/v1', 'CronJob', { schedule: '0 * * * *' }, undefined, true, '0 * * * *'],
  ['v1', 'Pod', {}, { phase: 'Pending' }, false, 'not running yet'],
  [
    'v1',
    'Pod',
    {},
    { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] },
    false,
    'not ready',
  ],
  ['v1', 'Pod', {}, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }, true, 'ready'],
  ['v1', 'Pod', {}, { phase: 'Succeeded' }, true, 'succeeded'],
  ['v1', 'Pod', {}, { phase: 'Failed' }, false, 'failed'],
  ['v1', 'ConfigMap', {}, undefined, true, 'matches the template'],
])('%s %s %j, %j: %s', (apiVersion, kind, spec, status, available, message) => {
  const object = {
    apiVersion,
    kind,
    metadata: { name: 'x', generation: 2 },
    spec,
    ...(status && { status }),
  };
  expect(availabilityOf(object)).toMatchObject({ available, message: expect.stringContaining(message) });
});

it('reports an object that is being deleted as not available', () => {
  const metadata = { name: 'x', deletionTimestamp: '2026-01-01T00:00:00Z' };
  expect(availabilityOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata })).toMatchObject({
    available: false,
    reason: 'Terminating',
  });
});
