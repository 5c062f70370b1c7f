import { type KubeObject, type Logger, silentLogger } from '@tidegate/kube';
import { expect, it } from 'vitest';
import { contextOf } from '../testing/context.ts';
import { inClusterConfig } from './index.ts';

it('logs a kubeconfig that cannot be parsed once, and leaves it unchanged', () => {
  const lines: object[] = [];
  const log: Logger = { ...silentLogger, warn: (fields) => lines.push(fields) };
  const filter = inClusterConfig(log);
  const { context } = contextOf([]);
  const configMap: KubeObject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'kube-system', name: 'kube-proxy' },
    data: { 'kubeconfig.conf': 'kind: Config\nclusters: ]' },
  };
  expect(filter.apply(configMap, context)).toBe(configMap);
  expect(filter.apply(structuredClone(configMap), context)).toEqual(configMap);
  expect(lines).toEqual([
    expect.objectContaining({ entry: 'kubeconfig.conf', configMap: 'kube-system/kube-proxy' }),
  ]);
});
