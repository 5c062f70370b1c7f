import type { Taint, Toleration } from 'kubernetes-types/core/v1.d.ts';
import { expect, it } from 'vitest';
import { staysForMs } from './eviction.ts';

const LOST: Taint = { key: 'lost', effect: 'NoExecute' };
const BROKEN: Taint = { key: 'broken', effect: 'NoExecute' };
const tolerating = (key: string, tolerationSeconds?: number): Toleration => ({
  key,
  operator: 'Exists',
  tolerationSeconds,
});

it.each<[string, Toleration[], Taint[], number | undefined]>([
  ['no taints', [], [], undefined],
  ['no toleration', [], [LOST], 0],
  ['tolerated forever', [tolerating('lost')], [LOST], undefined],
  ['tolerated for a time', [tolerating('lost', 300)], [LOST], 300_000],
  ['the shortest of all that match', [tolerating('lost', 300), tolerating('', 20)], [LOST], 20_000],
  ['a limit wins over no limit', [tolerating('lost'), tolerating('broken', 5)], [LOST, BROKEN], 5000],
  ['one of two taints tolerated', [tolerating('lost', 300)], [LOST, BROKEN], 0],
  ['a negative time', [tolerating('lost', -1)], [LOST], 0],
  [
    'ignores tolerations that do not match',
    [tolerating('lost', 300), tolerating('other', 1)],
    [LOST],
    300_000,
  ],
])('%s', (_, tolerations, taints, expected) => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: {}, spec: { containers: [], tolerations } };
  expect(staysForMs(pod, taints)).toBe(expected);
});
