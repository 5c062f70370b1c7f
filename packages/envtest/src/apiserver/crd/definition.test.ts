import { describe, expect, it } from 'vitest';
import { definitionOf } from './definition.ts';
import type { CustomResourceDefinition } from './types.ts';

const crd: CustomResourceDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'pools.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Cluster',
    names: { plural: 'pools', singular: 'pool', kind: 'Pool', listKind: 'PoolList', shortNames: ['np'] },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: false,
        deprecated: true,
        schema: { openAPIV3Schema: { type: 'object' } },
      },
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object' } },
        subresources: {
          status: {},
          scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
        },
        selectableFields: [{ jsonPath: '.spec.type' }],
        additionalPrinterColumns: [
          { name: 'Type', type: 'string', jsonPath: '.spec.type' },
          { name: 'Nodes', type: 'integer', jsonPath: '.status.nodes', priority: 1 },
          { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
          { name: 'Taints', type: 'string', jsonPath: '.spec.taints[*].key' },
          { name: 'Zone', type: 'string', jsonPath: '.metadata.labels.topology\\.io/zone' },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
      },
      { name: 'v0', served: false, storage: false, schema: { openAPIV3Schema: { type: 'object' } } },
    ],
  },
};

const object = {
  apiVersion: 'example.com/v1',
  kind: 'Pool',
  metadata: { name: 'a', creationTimestamp: '2026-01-02T03:04:05Z', labels: { 'topology.io/zone': 'z1' } },
  spec: { type: 'Edge', taints: [{ key: 'k1' }, { key: 'k2' }] },
  status: {
    nodes: 3,
    conditions: [
      { type: 'Other', status: 'False' },
      { type: 'Ready', status: 'True' },
    ],
  },
};

describe('definitionOf', () => {
  const definition = definitionOf(crd);
  const [preferred, old] = definition.versions;

  it('serves the versions that are marked as served, the most stable first', () => {
    expect(definition.versions.map((v) => v.name)).toEqual(['v1', 'v1alpha1']);
    expect(definition).toMatchObject({
      storage: 'example.com/pools',
      storageVersion: 'v1',
      namespaced: false,
      custom: true,
      scale: { specReplicasPath: 'spec.replicas', statusReplicasPath: 'status.replicas' },
    });
    expect(Object.keys(definition.subresources)).toEqual(['status', 'scale']);
    expect(old?.deprecationWarning).toBe('example.com/v1alpha1 Pool is deprecated; use example.com/v1 Pool');
  });

  it('prints the declared columns', () => {
    expect(preferred?.printer.columns.map((c) => [c.name, c.type, c.priority])).toEqual([
      ['Name', 'string', 0],
      ['Type', 'string', 0],
      ['Nodes', 'integer', 1],
      ['Ready', 'string', 0],
      ['Taints', 'string', 0],
      ['Zone', 'string', 0],
      ['Age', 'date', 0],
    ]);
    const cells = preferred?.printer.cells(object, new Date('2026-01-02T03:09:05Z'));
    expect(cells).toEqual(['a', 'Edge', 3, 'True', 'k1', 'z1', '5m']);
  });

  it('prints the age if no columns are declared', () => {
    expect(old?.printer.columns.map((c) => c.name)).toEqual(['Name', 'Age']);
    expect(old?.printer.cells({ ...object, metadata: { name: 'b' } }, new Date())).toEqual(['b', null]);
  });

  it('prunes fields that are not in the schema of a version', () => {
    const [v1 = {}, v1alpha1 = {}] = [...(crd.spec.versions ?? [])].reverse().slice(1);
    const knows = (field: string) => ({
      schema: {
        openAPIV3Schema: {
          type: 'object' as const,
          properties: {
            spec: { type: 'object' as const, properties: { [field]: { type: 'string' as const } } },
          },
        },
      },
    });
    const versions = [
      { ...v1, ...knows('type') },
      { ...v1alpha1, ...knows('kind') },
    ];
    const defined = definitionOf({ ...crd, spec: { ...crd.spec, versions } });
    const [stored, other] = defined.versions;
    expect(stored?.fromStorage).toBeUndefined();
    expect(other?.fromStorage?.(object).spec).toEqual({});
    const both = { ...object, spec: { type: 'a', kind: 1 } };
    expect(defined.pruneForStorage?.(both).spec).toEqual({ type: 'a' });
    expect(stored?.strategy?.validate?.(both)).toEqual([]);
    expect(other?.strategy?.validate?.(both).map((e) => e.field)).toEqual(['spec.kind']);
  });

  it('limits replicas to the range of a Scale', () => {
    const check = (fields: object) =>
      definition.strategy.validate?.({ ...object, ...fields }).map((e) => `${e.field}: ${e.body}`);
    expect(check({ spec: { replicas: 2 ** 31 } })).toEqual([
      '.spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647',
    ]);
    expect(check({ spec: 'x', status: { replicas: 'y' } })).toEqual([
      '.spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected map[string]interface{}',
      '.status.replicas: Invalid value: 0: .status.replicas accessor error: y is of the type string, expected int64',
    ]);
  });

  it('supports selectors for the declared fields', () => {
    expect(definition.versions[0]?.selectableFields?.(object)).toEqual({ 'spec.type': 'Edge' });
  });
});
