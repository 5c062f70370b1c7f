import type { Node } from '@tidegate/kube';
import type { NodeCondition, Taint } from 'kubernetes-types/core/v1.d.ts';
import { describe, expect, it } from 'vitest';
import { changedTaints, type NodeLossVerdict, unknownConditions } from './conditions.ts';

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
  it.each<[string, Node, NodeLossVerdict, string[] | undefined]>([
    ['well', node({ Ready: 'True' }), 'unclear', undefined],
    [
      'ready again',
      node({ Ready: 'True' }, [`not-ready:${N}`, `unreachable:${X}`, 'my-own:NoExecute']),
      'unclear',
      ['my-own:NoExecute'],
    ],
    ['never reported a status', node({}, [`not-ready:${N}`]), 'unclear', undefined],
    ['not ready', node({ Ready: 'False' }), 'unclear', [`not-ready:${N}`, `not-ready:${X}`]],
    ['lost', node({ Ready: 'Unknown' }), 'lost', [`unreachable:${N}`, `unreachable:${X}`]],
    [
      'lost, taints already correct',
      node({ Ready: 'Unknown' }, [`unreachable:${N}`, `unreachable:${X}`]),
      'lost',
      undefined,
    ],
    ['not observed for long enough', node({ Ready: 'Unknown' }), 'unclear', [`unreachable:${N}`]],
    [
      'keeps an earlier decision',
      node({ Ready: 'Unknown' }, [`unreachable:${N}`, `unreachable:${X}`]),
      'unclear',
      undefined,
    ],
    [
      'no node sends heartbeats',
      node({ Ready: 'Unknown' }, [`unreachable:${N}`, `unreachable:${X}`]),
      'spared',
      [`unreachable:${N}`],
    ],
    [
      'from NotReady to Unknown',
      node({ Ready: 'Unknown' }, [`not-ready:${N}`, `not-ready:${X}`]),
      'lost',
      [`unreachable:${N}`, `unreachable:${X}`],
    ],
    [
      'pressure',
      node({ Ready: 'True', MemoryPressure: 'True', DiskPressure: 'False' }),
      'unclear',
      [`memory-pressure:${N}`],
    ],
    [
      'pressure is over',
      node({ Ready: 'True', PIDPressure: 'Unknown' }, [`pid-pressure:${N}`]),
      'unclear',
      [],
    ],
    ['cordoned', node({ Ready: 'True' }, [], true), 'unclear', [`unschedulable:${N}`]],
    ['uncordoned', node({ Ready: 'True' }, [`unschedulable:${N}`]), 'unclear', []],
    [
      'a taint with another effect is kept',
      node({ Ready: 'True' }, [`unschedulable:${X}`]),
      'unclear',
      undefined,
    ],
  ])('%s', (_, asked, verdict, expected) => {
    expect(changedTaints(asked, verdict, NOW)?.map(print)).toEqual(expected);
  });

  it('records when a NoExecute taint was added', () => {
    expect(changedTaints(node({ Ready: 'Unknown' }), 'lost', NOW)?.[1]).toHaveProperty('timeAdded', AT);
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
