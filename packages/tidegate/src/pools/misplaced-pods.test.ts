import { describe, expect, it } from 'vitest';
import { EDGE_APPLICATION_LABEL, NODE_GROUP_LABEL, NODE_POOL_LABEL } from '../api/index.ts';
import { isMisplaced } from './misplaced-pods.ts';
import { pod } from './testing/objects.ts';

const inGroup = { nodeSelector: { [NODE_GROUP_LABEL]: 'a', disk: 'ssd' } };
const affinity = (...terms: { key: string; operator: string; values?: string[] }[][]) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions })),
      },
    },
  },
});

describe('isMisplaced', () => {
  it('considers only pool labels in the node selector', () => {
    expect(isMisplaced(pod('p', inGroup), { [NODE_GROUP_LABEL]: 'b', disk: 'ssd' })).toBe(true);
    expect(isMisplaced(pod('p', inGroup), {})).toBe(true);
    expect(isMisplaced(pod('p', inGroup), { [NODE_GROUP_LABEL]: 'a' })).toBe(false);
    expect(isMisplaced(pod('p', { nodeSelector: { disk: 'ssd' } }), {})).toBe(false);
    expect(isMisplaced(pod('p', {}), {})).toBe(false);
  });

  it('considers required affinity, of which one term must match', () => {
    const either = affinity(
      [{ key: NODE_POOL_LABEL, operator: 'In', values: ['p', 'q'] }],
      [{ key: NODE_GROUP_LABEL, operator: 'DoesNotExist' }],
    );
    expect(isMisplaced(pod('p', either), { [NODE_POOL_LABEL]: 'q', [NODE_GROUP_LABEL]: 'a' })).toBe(false);
    expect(isMisplaced(pod('p', either), { [NODE_POOL_LABEL]: 'z' })).toBe(false);
    expect(isMisplaced(pod('p', either), { [NODE_POOL_LABEL]: 'z', [NODE_GROUP_LABEL]: 'a' })).toBe(true);
  });

  it('considers all labels for pods of an EdgeApplication', () => {
    const located = affinity([{ key: 'location', operator: 'In', values: ['hangzhou'] }]);
    expect(isMisplaced(pod('p', located), { location: 'beijing' })).toBe(false);
    const labels = { [EDGE_APPLICATION_LABEL]: 'app' };
    expect(isMisplaced(pod('p', located, { labels }), { location: 'beijing' })).toBe(true);
  });

  it('ignores pods of DaemonSets, mirror pods, and pods that are terminating or finished', () => {
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'u', controller: true };
    const mirror = { 'kubernetes.io/config.mirror': 'x' };
    expect(isMisplaced(pod('p', inGroup, { ownerReferences: [owner] }), {})).toBe(false);
    expect(isMisplaced(pod('p', inGroup, { annotations: mirror }), {})).toBe(false);
    expect(isMisplaced(pod('p', inGroup, { deletionTimestamp: '2026-01-01T00:00:00Z' }), {})).toBe(false);
    expect(isMisplaced({ ...pod('p', inGroup), status: { phase: 'Succeeded' } }, {})).toBe(false);
  });
});
