import { expect, it } from 'vitest';
import { NODE_GROUP_LABEL, NODE_POOL_LABEL } from '../api/index.ts';
import { isFreeNode } from './outside-pools.ts';
import { node } from './testing/objects.ts';

it('is free outside of pools, unless it is closed for pods', () => {
  const taint = (key: string, effect = 'NoSchedule') => ({ taints: [{ key, effect }] });
  expect(isFreeNode(node('a'))).toBe(true);
  expect(isFreeNode(node('a', { [NODE_POOL_LABEL]: 'p' }))).toBe(false);
  expect(isFreeNode(node('a', { [NODE_GROUP_LABEL]: 'g' }))).toBe(false);
  expect(isFreeNode(node('a', {}, taint('node-role.kubernetes.io/control-plane')))).toBe(false);
  expect(isFreeNode(node('a', {}, taint('dedicated', 'PreferNoSchedule')))).toBe(true);
  expect(isFreeNode(node('a', {}, taint('node.kubernetes.io/unreachable')))).toBe(true);
  expect(isFreeNode({ ...node('a'), spec: { unschedulable: true } })).toBe(false);
});
