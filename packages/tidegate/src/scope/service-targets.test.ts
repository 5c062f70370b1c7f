import type { KubeObject } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import {
  EDGE_APPLICATION_LABEL,
  SERVICE_TARGETS_ANNOTATION,
  SERVICE_TOPOLOGY_ANNOTATION,
  TOPOLOGY_KEYS_ANNOTATION,
} from '../api/index.ts';
import { formatServiceTargets, type PoolLookup, type ServiceTargets, visible } from './index.ts';

/** Nodes a1, a2 and b1 are in NodePools a and b. All of them are in the NodeGroup edge. Others are in no pool. */
const membership: PoolLookup = {
  poolOf: (kind, node) => {
    if (!/^[ab]\d/.test(node)) return undefined;
    return kind === 'NodeGroup' ? 'edge' : node[0];
  },
};

const service = (annotations: Record<string, string>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    labels: { [EDGE_APPLICATION_LABEL]: 'app' },
    annotations: { [SERVICE_TOPOLOGY_ANNOTATION]: 'range-nodegroup', ...annotations },
  },
});
const see = (
  targets: ServiceTargets | string,
  clientNode: string,
  nodeName: string,
  more: Record<string, string> = {},
): string => {
  const value = typeof targets === 'string' ? targets : formatServiceTargets(targets);
  const { visible: seen, reason } = visible({
    membership,
    service: service({ [SERVICE_TARGETS_ANNOTATION]: value, ...more }),
    clientNode,
    endpoint: { nodeName },
  });
  return `${seen ? 'seen' : 'hidden'} ${reason}`;
};

describe('a Service of an application', () => {
  it('is limited to the NodePools that the application targets, also if a NodeGroup contains all of them', () => {
    const targets = { nodePools: ['a', 'b'] };
    expect(see(targets, 'a1', 'a2')).toBe('seen SameTarget');
    expect(see(targets, 'a1', 'b1')).toBe('hidden OtherTarget');
    expect(see({ nodeGroups: ['edge'] }, 'a1', 'b1')).toBe('seen SameTarget');
  });

  it('is limited to the nodes that the application selects by label, also if they are in no pool', () => {
    const targets = { nodes: [['x', 'y'], ['z']] };
    expect(see(targets, 'x', 'y')).toBe('seen SameTarget');
    expect(see(targets, 'x', 'z')).toBe('hidden OtherTarget');
    expect(see(targets, 'a1', 'x')).toBe('hidden ClientWithoutTarget');
  });

  it('shows a client outside of all targets only what runs on its own node', () => {
    expect(see({ nodePools: ['b'] }, 'a1', 'a2')).toBe('hidden ClientWithoutTarget');
    expect(see({ nodePools: ['b'] }, 'a1', 'a1')).toBe('seen SameNode');
  });

  it('keeps the restriction of topology keys', () => {
    const onNode = { [TOPOLOGY_KEYS_ANNOTATION]: 'kubernetes.io/hostname' };
    expect(see({ nodePools: ['a'] }, 'a1', 'a2', onNode)).toBe('hidden OtherNode');
  });

  it.each(['{', '[]', 'null', '{"nodePools":"a"}', '{"nodes":["x"]}'])(
    'shows nothing of another node if the targets cannot be read: %s',
    (value) => {
      expect(see(value, 'a1', 'a2')).toBe('hidden ClientWithoutTarget');
    },
  );
});

describe('formatServiceTargets', () => {
  it('does not depend on the order of targets', () => {
    const text = formatServiceTargets({ nodePools: ['b', 'a'], nodes: [['y', 'x'], ['n']] });
    expect(text).toBe('{"nodePools":["a","b"],"nodes":[["n"],["x","y"]]}');
    expect(formatServiceTargets({ nodes: [['n'], ['x', 'y']], nodePools: ['a', 'b'] })).toBe(text);
  });
});
