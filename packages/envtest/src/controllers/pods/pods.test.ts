import type { KubeObject, Pod } from '@tidegate/kube';
import type { PodStatus } from 'kubernetes-types/core/v1.d.ts';
import { describe, expect, it } from 'vitest';
import { deletionOrder, isActive, isAvailable, nextAvailableInMs, podFromTemplate } from './index.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const ago = (seconds: number): string => new Date(NOW - seconds * 1000).toISOString();

interface Traits {
  node?: string;
  phase?: string;
  readyFor?: number;
  restarts?: number;
  age?: number;
  cost?: string;
}

function podOf(name: string, traits: Traits = {}): Pod {
  const { node = name, phase = 'Running', readyFor = 1000, restarts = 0, age = 1000, cost = '0' } = traits;
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: ago(readyFor) };
  const status: PodStatus = {
    phase,
    conditions: readyFor < 0 ? [] : [ready],
    containerStatuses: [{ name: 'web', image: 'web', imageID: '', ready: true, restartCount: restarts }],
  };
  const annotations = { 'controller.kubernetes.io/pod-deletion-cost': cost };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, uid: name, creationTimestamp: ago(age), annotations },
    spec: { containers: [], nodeName: node },
    status,
  };
}

describe('the deletion order', () => {
  it.each<[string, Traits, Traits]>([
    ['without a node', { node: '' }, { readyFor: -1 }],
    ['pending', { phase: 'Pending' }, { phase: 'Running' }],
    ['not ready', { readyFor: -1 }, { readyFor: 1 }],
    ['cheaper', { cost: '-5' }, { cost: '3' }],
    ['ready for a shorter time', { readyFor: 10 }, { readyFor: 1000 }],
    ['restarted more often', { restarts: 3 }, { restarts: 1 }],
    ['younger', { age: 10 }, { age: 5000 }],
  ])('%s', (_, first, second) => {
    const [goes, stays] = [podOf('z', first), podOf('a', second)];
    expect(deletionOrder([stays, goes], NOW)).toEqual([goes, stays]);
    expect(deletionOrder([goes, stays], NOW)).toEqual([goes, stays]);
  });

  it('prefers pods that share a node with pods of the same kind, also of another owner', () => {
    const [alone, doubled] = [podOf('alone', { node: 'n1' }), podOf('doubled', { node: 'n2' })];
    const related = [alone, doubled, podOf('sibling', { node: 'n2' })];
    expect(deletionOrder([alone, doubled], NOW, related)).toEqual([doubled, alone]);
  });
});

describe('the state of a pod', () => {
  it('is available after it was ready for long enough', () => {
    const pod = podOf('web', { readyFor: 20 });
    expect(isAvailable(pod, 0, NOW)).toBe(true);
    expect(isAvailable(pod, 20, NOW)).toBe(true);
    expect(isAvailable(pod, 30, NOW)).toBe(false);
    expect(isAvailable(podOf('web', { readyFor: -1 }), 0, NOW)).toBe(false);
  });

  it('computes when the next pod becomes available', () => {
    const pods = [20, 25, 60, -1].map((readyFor) => podOf('web', { readyFor }));
    expect(nextAvailableInMs(pods, 30, NOW)).toBe(5_000);
    expect(nextAvailableInMs(pods, 0, NOW)).toBeUndefined();
  });

  it('is active until it is finished or terminating', () => {
    const running = podOf('web');
    const metadata = { ...running.metadata, deletionTimestamp: ago(0) };
    expect(isActive(running)).toBe(true);
    expect(isActive({ ...running, metadata })).toBe(false);
    expect(isActive(podOf('web', { phase: 'Failed' }))).toBe(false);
    expect(isActive(podOf('web', { phase: 'Succeeded' }))).toBe(false);
  });
});

describe('a pod from a template', () => {
  const owner: KubeObject = {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'agent', namespace: 'kube-system', uid: 'u1' },
  };
  const template = {
    metadata: { labels: { app: 'agent' }, annotations: { a: '1' }, finalizers: ['example.com/x'] },
    spec: { containers: [{ name: 'agent', image: 'agent:1' }] },
  };

  it("has the template's fields and its owner", () => {
    expect(podFromTemplate(owner, template)).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        generateName: 'agent-',
        namespace: 'kube-system',
        labels: { app: 'agent' },
        annotations: { a: '1' },
        finalizers: ['example.com/x'],
        ownerReferences: [
          {
            apiVersion: 'apps/v1',
            kind: 'DaemonSet',
            name: 'agent',
            uid: 'u1',
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: { containers: [{ name: 'agent', image: 'agent:1' }] },
    });
  });

  it('has what the owner adds, and does not change the template', () => {
    const pod = podFromTemplate(owner, template, { name: 'agent-0', nodeName: 'n1', labels: { index: '0' } });
    expect(pod.metadata).toMatchObject({ name: 'agent-0', labels: { app: 'agent', index: '0' } });
    expect(pod.metadata.generateName).toBeUndefined();
    expect(pod.spec?.nodeName).toBe('n1');
    pod.spec!.containers[0]!.image = 'changed';
    expect(template.spec.containers[0]!.image).toBe('agent:1');
  });
});
