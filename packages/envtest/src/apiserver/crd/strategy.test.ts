import { expect, test } from 'vitest';
import { crdStrategy } from './strategy.ts';
import type { CustomResourceDefinition } from './types.ts';

test('a new definition has a list of conditions, which kubectl wait can read before the first one is set', () => {
  const crd: CustomResourceDefinition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'gauges.example.com' },
    spec: {
      group: 'example.com',
      names: { plural: 'gauges', kind: 'Gauge' },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true }],
    },
  };
  crdStrategy.prepareForCreate?.(crd, undefined as never);
  expect(crd.status).toMatchObject({ conditions: [], storedVersions: ['v1'] });
});
