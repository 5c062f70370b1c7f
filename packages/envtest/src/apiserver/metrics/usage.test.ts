import type { KubeObject } from '@tidegate/kube';
import { expect, it } from 'vitest';
import { declaredUsage, shownUsage, USAGE_ANNOTATION, usageOfPods } from './usage.ts';

const object = (kind: string, name: string, usage?: string, owner?: KubeObject): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: {
    name,
    namespace: 'default',
    uid: `uid-${name}`,
    ...(usage !== undefined && { annotations: { [USAGE_ANNOTATION]: usage } }),
    ...(owner && {
      ownerReferences: [
        { apiVersion: 'v1', kind: owner.kind, name: owner.metadata.name ?? '', uid: '', controller: true },
      ],
    }),
  },
  spec: {},
  status: { phase: 'Running' },
});

const usages = (pods: KubeObject[], owners: KubeObject[]): Record<string, object> => {
  const find = (kind: string, _: string, name: string) =>
    owners.find((one) => one.kind === kind && one.metadata.name === name);
  const entries = [...usageOfPods(pods, find)].map(([pod, usage]) => [pod.metadata.name, shownUsage(usage)]);
  return Object.fromEntries(entries) as Record<string, object>;
};

it('divides the usage of a workload among its running pods', () => {
  const deployment = object('Deployment', 'web', 'cpu=1, memory=3Gi');
  const set = object('ReplicaSet', 'web-1', undefined, deployment);
  const pods = ['a', 'b', 'c'].map((name) => object('Pod', name, undefined, set));
  const ended = { ...object('Pod', 'd', undefined, set), status: { phase: 'Succeeded' } };
  expect(usages([...pods, ended], [deployment, set])).toEqual({
    a: { cpu: '333m', memory: '1Gi' },
    b: { cpu: '333m', memory: '1Gi' },
    c: { cpu: '333m', memory: '1Gi' },
  });
});

it('prefers the usage that a pod declares itself, and is zero without any', () => {
  expect(usages([object('Pod', 'a', 'cpu=250m'), object('Pod', 'b')], [])).toEqual({
    a: { cpu: '250m', memory: '0' },
    b: { cpu: '0', memory: '0' },
  });
});

it.each(['', 'cpu', 'cpu=', 'cpu=x', 'disk=1', 'cpu=1=2'])('ignores the annotation %j', (text) => {
  expect(declaredUsage(object('Pod', 'a', text))).toBeUndefined();
});
