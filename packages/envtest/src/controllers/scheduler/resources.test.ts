import type { PodSpec } from 'kubernetes-types/core/v1.d.ts';
import { expect, it } from 'vitest';
import { requestsOf } from './resources.ts';

const container = (cpu: string, restartPolicy?: string) => ({
  name: 'c',
  restartPolicy,
  resources: { requests: { cpu } },
});

it.each<[string, PodSpec & { resources?: unknown }, number]>([
  ['nothing', { containers: [{ name: 'c' }] }, 0],
  ['all containers', { containers: [container('1'), container('500m')] }, 1500],
  [
    'the largest init container',
    { initContainers: [container('2'), container('1')], containers: [container('1')] },
    2000,
  ],
  [
    'an init container together with earlier sidecars',
    { initContainers: [container('1', 'Always'), container('2')], containers: [container('1')] },
    3000,
  ],
  [
    'containers together with sidecars',
    { initContainers: [container('2'), container('1', 'Always')], containers: [container('1500m')] },
    2500,
  ],
  ['overhead', { containers: [container('1')], overhead: { cpu: '250m' } }, 1250],
  ['requests at pod level', { containers: [container('1')], resources: { requests: { cpu: '3' } } }, 3000],
])('%s', (_, spec, milli) => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: {}, spec };
  expect(requestsOf(pod).get('cpu') ?? 0n).toBe(BigInt(milli) * 1_000_000n);
});
