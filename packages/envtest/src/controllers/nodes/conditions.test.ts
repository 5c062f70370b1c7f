import type { Node } from '@tidegate/kube';
import type { NodeCondition, Taint } from 'kubernetes-types/core/v1.d.ts';
import { describe, expect, it } from 'vitest';
import { changedTaints, type NodeLossCause, unknownConditions } from './conditions.ts';

const NOW = Date.UTC(2026, 0, 1);
const AT = '2026-01-01T00:00:00Z';

const node = (conditions: Record<string, string>, taints?: string[], unschedulable?: boolean): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n', creationTimestamp: '2025-01-01T00:00:00Z' },
  spec: { unschedulable, taints: taints?.map(taint) },
  status: {
    conditions: Object.entries(conditions).map(([type, status]): NodeCondition => ({ type, status })),
  },
});

const taint = (text: string): Taint => {
  const [key = '', effect = ''] = text.split(':');
  return { key: key.startsWith('my-') ? key : `node.kubernetes.io/${key}`, effect };
};

const print = ({ key, effect }: Taint): string => `${key.replace('node.kubernetes.io/', '')}:${effect}`;

describe('changedTaints', () => {
  const N = 'NoSchedule';
  const X = 'NoExecute';
  it.each<[string, Node, NodeLossCause, string[] | undefined]>([
    ['well', node({ Ready: 'True' }), 'unknown', undefined],
    [
      'ready again',
      node({ Ready: 'True' }, [`not-ready:${N}`, `unreachable:${X}`, 'my-own:NoExecute']),
      'unknown',
      ['my-own:NoExecute'],
    ],
    ['never reported a status', node({}, [`not-ready:${N}`]), 'unknown', undefined],
    ['not ready', node({ Ready: 'False' }), 'unknown', [`not-ready:${N}`, `not-ready:${X}`]],
    ['lost', node({ Ready: 'Unknown' }), 'node', [`unreachable:${N}`, `unreachable:${X}`]],
    [
      'lost, taints already correct',
      node({ Ready: 'Unknown' }, [`unreachable:${N}`, `unreachable:${X}`]),
      'node',
      undefined,
    ],
    ['not observed for long enough', node({ Ready: 'Unknown' }), 'unknown', [`unreachable:${N}`]],
    [
      'keeps an earlier decision',
      node({ Ready: 'Unknown' }, [`unreachable:${N}`, `unreachable:${X}`]),
      'unknown',
      undefined,
    ],
    [
      'no node sends heartbeats',
      node({ Ready: 'Unknown' }, [`unreachable:${N}`, `unreachable:${X}`]),
      'cluster',
      [`unreachable:${N}`],
    ],
    [
      'from NotReady to Unknown',
      node({ Ready: 'Unknown' }, [`not-ready:${N}`, `not-ready:${X}`]),
      'node',
      [`unreachable:${N}`, `unreachable:${X}`],
    ],
    [
      'pressure',
      node({ Ready: 'True', MemoryPressure: 'True', DiskPressure: 'False' }),
      'unknown',
      [`memory-pressure:${N}`],
    ],
    [
      'pressure is over',
      node({ Ready: 'True', PIDPressure: 'Unknown' }, [`pid-pressure:${N}`]),
      'unknown',
      [],
    ],
    ['cordoned', node({ Ready: 'True' }, [], true), 'unknown', [`unschedulable:${N}`]],
    ['uncordoned', node({ Ready: 'True' }, [`unschedulable:${N}`]), 'unknown', []],
    [
      'a taint with another effect is kept',
      node({ Ready: 'True' }, [`unschedulable:${X}`]),
      'unknown',
      undefined,
    ],
  ])('%s', (_, asked, cause, expected) => {
    expect(changedTaints(asked, cause, NOW)?.map(print)).toEqual(expected);
  });

  it('records when a NoExecute taint was added', () => {
    expect(changedTaints(node({ Ready: 'Unknown' }), 'node', NOW)?.[1]).toHaveProperty('timeAdded', AT);
  });
});

describe('unknownConditions', () => {
  it('distinguishes conditions that were never reported', () => {
    const conditions = unknownConditions(node({ Ready: 'True', DiskPressure: 'Unknown' }), NOW);
    expect(conditions.map(({ type, reason }) => [type, reason])).toEqual([
      ['Ready', 'NodeStatusUnknown'],
      ['MemoryPressure', 'NodeStatusNeverUpdated'],
      ['PIDPressure', 'NodeStatusNeverUpdated'],
    ]);
    expect(conditions[0]).toMatchObject({ status: 'Unknown', lastTransitionTime: AT });
  });
});
