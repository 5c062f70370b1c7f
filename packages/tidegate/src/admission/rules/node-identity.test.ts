import type { Node } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import type { EdgeApplication } from '../../api/index.ts';
import { TargetLabels } from '../../apps/index.ts';
import { Membership } from '../../pools/index.ts';
import { group, node, pool } from '../../pools/testing/objects.ts';
import type { AdmissionRequest } from '../review.ts';
import { ruleFor } from '../rule.ts';
import { nodeIdentityRules } from './node-identity.ts';

const membership = new Membership();
membership.apply({ type: 'NodePool', name: 'paris', object: pool('paris') });
membership.apply({
  type: 'NodePool',
  name: 'lyon',
  object: pool('lyon', { selector: { matchExpressions: [{ key: 'city', operator: 'Exists' }] } }),
});
membership.apply({
  type: 'NodeGroup',
  name: 'shops',
  object: group('shops', { matchLabels: { shop: 'yes' } }),
});

const targetLabels = new TargetLabels();
const selecting = (name: string, ...keys: string[]): EdgeApplication => ({
  apiVersion: 'apps.kubeedge.io/v1alpha1',
  kind: 'EdgeApplication',
  metadata: { name, namespace: 'a' },
  spec: {
    workloadTemplate: { manifests: [] },
    workloadScope: {
      targetNodeLabels: keys.map((key) => ({
        labelSelector: {
          matchLabels: { [key]: 'x' },
          matchExpressions: [{ key: `${key}-e`, operator: 'Exists' }],
        },
      })),
    },
  },
});
targetLabels.set(selecting('one', 'gpu', 'kubernetes.io/hostname'));
targetLabels.set(selecting('two', 'gpu'));

const NO_NODES = { nodes: { get: () => undefined }, nodeNow: async () => undefined };
const NODE = { username: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] };
const ADMIN = { username: 'ann', groups: ['system:masters'] };
const WRITTEN = { 'pools.tidegate.io/written': '{"taints":[{"key":"dedicated","effect":"NoSchedule"}]}' };

interface Asked {
  user?: AdmissionRequest['userInfo'];
  before?: Node;
  after: Node;
  subResource?: string;
  registration?: 'allow' | 'refuse';
  /** The node as the API server has it; undefined if it cannot be read. */
  stored?: Node | 'unavailable';
  cached?: Node;
}

async function refusalOf({
  user = NODE,
  before,
  after,
  subResource,
  registration = 'allow',
  stored = before as Node,
  cached,
}: Asked) {
  const nodes = {
    nodes: { get: () => cached },
    nodeNow: async () => {
      if (stored === 'unavailable') throw new Error('the API server does not answer');
      return stored;
    },
  };
  const request: AdmissionRequest = {
    uid: 'u',
    kind: { group: '', version: 'v1', kind: 'Node' },
    resource: { group: '', version: 'v1', resource: 'nodes' },
    ...(subResource && { subResource }),
    operation: before === undefined ? 'CREATE' : 'UPDATE',
    userInfo: user,
    object: after,
    oldObject: before ?? null,
  };
  const rule = ruleFor(nodeIdentityRules({ membership, targetLabels, registration, nodes }), request);
  return (await rule?.evaluate(request))?.forbidden;
}

describe('what decides the pool of a node', () => {
  it.each([
    ['the label of a NodePool', { 'apps.openyurt.io/nodepool': 'paris' }],
    ['the label of the wanted NodePool', { 'apps.openyurt.io/desired-nodepool': 'paris' }],
    ['the label of a NodeGroup', { 'apps.kubeedge.io/belonging-to': 'shops' }],
    ['a label in the selector of a NodePool', { city: 'lyon' }],
    ['a label in matchLabels of a NodeGroup', { shop: 'yes' }],
    ['a label that an application selects', { gpu: 'x' }],
    ['a label that an application selects with an expression', { 'gpu-e': 'x' }],
    ['such a label without a value', { shop: '' }],
  ])('a node cannot add, change or remove %s', async (_, labels) => {
    const [without, withIt] = [node('n1', { a: 'b' }), node('n1', { a: 'b', ...labels })];
    const other = node('n1', Object.fromEntries(Object.keys(labels).map((key) => [key, 'other'])));
    for (const [before, after] of [
      [without, withIt],
      [withIt, without],
      [withIt, other],
    ] as const)
      for (const subResource of [undefined, 'status'])
        expect(await refusalOf({ before, after, subResource })).toMatch(
          `node n1 cannot change label ${Object.keys(labels)[0]}: it decides to which pool the node belongs`,
        );
    expect(await refusalOf({ user: ADMIN, before: without, after: withIt })).toBeUndefined();
  });

  it('is compared with the stored node, because old API servers copy new labels into the old object', async () => {
    const without = node('n1', { a: 'b' });
    const withIt = node('n1', { a: 'b', 'apps.openyurt.io/desired-nodepool': 'paris' });
    const same = { before: withIt, after: withIt };
    for (const subResource of [undefined, 'status']) {
      expect(await refusalOf({ ...same, stored: without, subResource })).toMatch(
        'node n1 cannot change label',
      );
      // A cache that is a moment old must not decide, if the node can be read.
      expect(await refusalOf({ ...same, stored: without, cached: withIt, subResource })).toMatch(
        'cannot change',
      );
      expect(await refusalOf({ ...same, stored: withIt, cached: without, subResource })).toBeUndefined();
      expect(await refusalOf({ ...same, stored: 'unavailable', cached: without, subResource })).toMatch(
        'cannot change',
      );
      // Heartbeats must not depend on it.
      expect(await refusalOf({ ...same, stored: 'unavailable', subResource })).toBeUndefined();
    }
    const records = { ...without, metadata: { ...without.metadata, annotations: WRITTEN } };
    expect(await refusalOf({ before: records, after: records, stored: without })).toMatch('annotation');
  });

  it('a node can change other labels, and report its status', async () => {
    const before = node('n1', { city: 'lyon', 'kubernetes.io/os': 'linux' });
    const after = node('n1', { city: 'lyon', 'kubernetes.io/os': 'other', rack: '7' }, { ready: 'True' });
    expect(await refusalOf({ before, after })).toBeUndefined();
    expect(await refusalOf({ before, after: before, subResource: 'status' })).toBeUndefined();
  });

  it('a node cannot change the record of what pools have set, not even when it registers', async () => {
    const forged = node('n1', {}, { annotations: WRITTEN });
    const message = 'annotation pools.tidegate.io/written: it decides to which pool the node belongs';
    expect(await refusalOf({ before: node('n1'), after: forged })).toMatch(message);
    expect(await refusalOf({ before: forged, after: node('n1') })).toMatch(message);
    expect(await refusalOf({ after: forged })).toMatch(message);
  });

  it('a node can choose its pool when it registers, unless that is refused', async () => {
    const after = node('n1', { 'apps.openyurt.io/nodepool': 'paris', shop: 'yes' });
    expect(await refusalOf({ after })).toBeUndefined();
    expect(await refusalOf({ after, registration: 'refuse' })).toBe(
      'node n1 cannot register with label apps.openyurt.io/nodepool, label shop: it decides to which pool the node belongs, or which applications it runs; ' +
        'an administrator can set it: kubectl label node n1 apps.openyurt.io/nodepool=VALUE --overwrite',
    );
    expect(await refusalOf({ after: node('n1', { rack: '7' }), registration: 'refuse' })).toBeUndefined();
  });

  it('names the keys of the current selectors in the conditions', () => {
    const [rule] = nodeIdentityRules({ membership, targetLabels, registration: 'allow', nodes: NO_NODES });
    const [, changed] = rule?.matchConditions?.() ?? [];
    expect(changed?.expression).toContain('"city","gpu","gpu-e","kubernetes.io/hostname-e","shop"');
  });
});
