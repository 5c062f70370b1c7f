import type { Deployment, Pod } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { isFailure, rolloutOf } from './rollout.ts';

const deployment = (status: object, replicas = 2): Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'tidegate-router-gold', generation: 1 },
  spec: { replicas, selector: {}, template: {} },
  status: { observedGeneration: 1, ...status },
});
const all = (count: number) => ({ replicas: count, updatedReplicas: count, availableReplicas: count });
const pod = (status: object, metadata: object = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'gold-1', ...metadata },
  status,
});
const waiting = (reason: string, message?: string, lastState?: object): Pod =>
  pod({
    phase: 'Pending',
    containerStatuses: [{ name: 'router', state: { waiting: { reason, message } }, lastState }],
  });

describe('rolloutOf', () => {
  const textOf = (of: Deployment | undefined, ...pods: Pod[]): string => {
    const { done, reason, message } = rolloutOf(of, pods);
    return `${done ? 'done' : isFailure(reason) ? 'failed' : 'waiting'} ${reason}: ${message}`;
  };
  const none = deployment(all(0), 1);
  const updated = deployment({ ...all(1), availableReplicas: 0 }, 1);

  it.each<[string, string, string]>([
    [
      'is done when all replicas are available',
      textOf(deployment(all(2))),
      'done RolledOut: 2 of 2 pods are available',
    ],
    [
      'waits for a Deployment',
      textOf(undefined),
      'waiting Creating: The Deployment has not been created yet',
    ],
    ['waits for updated replicas', textOf(none), 'waiting RollingOut: 0 of 1 pods are updated'],
    [
      'waits for an image',
      textOf(updated, waiting('ContainerCreating')),
      'waiting ContainerCreating: 0 of 1 pods are available; pod gold-1, container router: ContainerCreating',
    ],
    [
      'fails when the image cannot be pulled',
      textOf(updated, waiting('ImagePullBackOff', 'Back-off pulling image "nope"')),
      'failed ImagePullBackOff: 0 of 1 pods are available; pod gold-1, container router: Back-off pulling image "nope"',
    ],
    [
      'fails when a container crashes repeatedly',
      textOf(
        updated,
        waiting('CrashLoopBackOff', 'back-off 10s', {
          terminated: { exitCode: 1, reason: 'Error', message: 'no license\n' },
        }),
      ),
      'failed CrashLoopBackOff: 0 of 1 pods are available; pod gold-1, container router: back-off 10s; last exit code 1, no license',
    ],
    [
      'waits for a pod that cannot be scheduled',
      textOf(
        updated,
        pod({
          conditions: [
            { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes' },
          ],
        }),
      ),
      'waiting Unschedulable: 0 of 1 pods are available; pod gold-1: 0/3 nodes',
    ],
    [
      'fails when pods cannot be created',
      textOf(
        deployment(
          {
            ...all(0),
            conditions: [
              { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota' },
            ],
          },
          1,
        ),
      ),
      'failed ReplicaFailure: 0 of 1 pods are updated; exceeded quota',
    ],
    [
      'reports failures before pods that wait',
      textOf(
        updated,
        waiting('ContainerCreating'),
        pod({ phase: 'Failed', reason: 'Evicted', message: 'disk is full' }, { name: 'gold-2' }),
      ),
      'failed PodFailed: 0 of 1 pods are available; pod gold-2: Evicted: disk is full',
    ],
    [
      'ignores pods that are being deleted',
      textOf(updated, pod({ phase: 'Failed' }, { deletionTimestamp: '2026-01-01T00:00:00Z' })),
      'waiting RollingOut: 0 of 1 pods are available',
    ],
  ])('%s', (_, is, expected) => {
    expect(is).toBe(expected);
  });
});
