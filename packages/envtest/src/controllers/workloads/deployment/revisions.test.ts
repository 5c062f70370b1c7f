import type { ReplicaSet } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { REVISION } from './annotations.ts';
import { currentAnnotations, outdated, revisionOf } from './revisions.ts';
import type { Rollout } from './rollout.ts';

const replicaSet = (revision?: string): ReplicaSet => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: {
    name: `web-${revision}`,
    generation: 1,
    annotations: revision === undefined ? {} : { [REVISION]: revision },
  },
  spec: { replicas: 0, selector: {}, template: {} },
  status: { replicas: 0, observedGeneration: 1 },
});

const rollout = (old: ReplicaSet[], current?: ReplicaSet, revisionHistoryLimit = 10): Rollout =>
  ({
    deployment: {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: { revisionHistoryLimit },
    },
    old,
    current,
  }) as unknown as Rollout;

describe('the revision of the current ReplicaSet', () => {
  it('is above all others', () => {
    expect(currentAnnotations(rollout([replicaSet('3'), replicaSet('7')]))[REVISION]).toBe('8');
  });

  it('follows an adopted ReplicaSet whose revision needs 64 bits', () => {
    const adopted = replicaSet('3546343826724305832');
    expect(currentAnnotations(rollout([adopted]))[REVISION]).toBe('3546343826724305833');
  });

  it('is kept if a user has set it to another text', () => {
    expect(currentAnnotations(rollout([replicaSet('3')], replicaSet('mine')))[REVISION]).toBe('mine');
    expect(revisionOf(replicaSet('mine'))).toBe(0n);
  });
});

it('removes the lowest revisions first', () => {
  const old = ['3546343826724305832', '3546343826724305831', '9'].map(replicaSet);
  expect(outdated(rollout(old, undefined, 1)).map(revisionOf)).toEqual([9n, 3546343826724305831n]);
});
