import type { Pod } from '@tidegate/kube';
import { expect, it } from 'vitest';
import { hasStopped } from './stopped.ts';

const running = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const terminated = { terminated: { exitCode: 0 } };
const pod = (...states: object[]): Pod =>
  ({
    metadata: { name: 'manager', deletionTimestamp: '2026-01-01T00:00:00Z' },
    status: { phase: 'Running', containerStatuses: states.map((state) => ({ name: 'manager', state })) },
  }) as unknown as Pod;

it('a pod has stopped when all its containers have, although the kubelet deletes it up to a minute later', () => {
  expect(hasStopped(pod(terminated))).toBe(true);
  expect(hasStopped(pod(terminated, terminated))).toBe(true);
  expect(hasStopped(pod(running))).toBe(false);
  expect(hasStopped(pod(terminated, running))).toBe(false);
});

it('a pod that is not being deleted can start again', () => {
  const { metadata, ...rest } = pod(terminated);
  expect(hasStopped({ ...rest, metadata: { name: metadata.name } })).toBe(false);
});

it('a pod whose containers are unknown may run', () => {
  expect(hasStopped(pod())).toBe(false);
});
