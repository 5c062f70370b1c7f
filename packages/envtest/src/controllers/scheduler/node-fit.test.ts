import type { Node, Pod } from '@tidegate/kube';
import type { NodeSelectorTerm, PodSpec, Taint, Toleration } from 'kubernetes-types/core/v1.d.ts';
import { describe, expect, it } from 'vitest';
import { matchesNodeSelector, tolerates, toleratesTaints } from './node-fit.ts';

const pod = (spec: Partial<PodSpec>): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'default' },
  spec: { containers: [], ...spec },
});

const node = (labels: Record<string, string>, taints: Taint[] = []): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n1', labels },
  spec: { taints },
});

const affine = (...nodeSelectorTerms: NodeSelectorTerm[]): Pod =>
  pod({
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
  });

describe('matchesNodeSelector', () => {
  const hangzhou = node({ location: 'hangzhou', size: '12' });
  it.each([
    ['no constraint', pod({}), true],
    ['the label', pod({ nodeSelector: { location: 'hangzhou' } }), true],
    ['another value', pod({ nodeSelector: { location: 'beijing' } }), false],
    ['a name that every object inherits', pod({ nodeSelector: { constructor: 'x' } }), false],
    [
      'In',
      affine({ matchExpressions: [{ key: 'location', operator: 'In', values: ['a', 'hangzhou'] }] }),
      true,
    ],
    [
      'NotIn',
      affine({ matchExpressions: [{ key: 'location', operator: 'NotIn', values: ['hangzhou'] }] }),
      false,
    ],
    ['NotIn, no label', affine({ matchExpressions: [{ key: 'x', operator: 'NotIn', values: ['y'] }] }), true],
    ['Exists', affine({ matchExpressions: [{ key: 'x', operator: 'Exists' }] }), false],
    ['DoesNotExist', affine({ matchExpressions: [{ key: 'x', operator: 'DoesNotExist' }] }), true],
    ['Gt', affine({ matchExpressions: [{ key: 'size', operator: 'Gt', values: ['9'] }] }), true],
    ['Lt', affine({ matchExpressions: [{ key: 'size', operator: 'Lt', values: ['12'] }] }), false],
    [
      'unknown operator',
      affine({ matchExpressions: [{ key: 'size', operator: 'Like', values: ['1'] }] }),
      false,
    ],
    ['the name', affine({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }), true],
    [
      'not the name',
      affine({ matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['n1'] }] }),
      false,
    ],
    ['no terms', affine(), false],
    ['an empty term', affine({}), false],
    [
      'one of two terms',
      affine(
        { matchExpressions: [{ key: 'x', operator: 'Exists' }] },
        { matchExpressions: [{ key: 'size', operator: 'Exists' }] },
      ),
      true,
    ],
    [
      'all requirements of a term',
      affine({
        matchExpressions: [{ key: 'size', operator: 'Exists' }],
        matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n2'] }],
      }),
      false,
    ],
    [
      'the affinity but not the selector',
      {
        ...affine({ matchExpressions: [{ key: 'size', operator: 'Exists' }] }),
        spec: {
          ...affine({ matchExpressions: [{ key: 'size', operator: 'Exists' }] }).spec!,
          nodeSelector: { location: 'beijing' },
        },
      },
      false,
    ],
  ])('%s', (_, asking, expected) => {
    expect(matchesNodeSelector(asking, hangzhou)).toBe(expected);
  });
});

describe('tolerates', () => {
  const taint: Taint = { key: 'site', value: 'shop', effect: 'NoExecute' };
  it.each<[Toleration, boolean]>([
    [{ operator: 'Exists' }, true],
    [{ key: 'site', operator: 'Exists' }, true],
    [{ key: 'site', operator: 'Exists', effect: 'NoSchedule' }, false],
    [{ key: 'site', value: 'shop' }, true],
    [{ key: 'site', operator: 'Equal', value: 'plant' }, false],
    [{ key: 'other', operator: 'Exists' }, false],
    [{ key: 'site', operator: 'Lt', value: 'shop' }, false],
  ])('%j: %s', (toleration, expected) => {
    expect(tolerates(toleration, taint)).toBe(expected);
  });
});

describe('toleratesTaints', () => {
  const tainted = node({}, [
    { key: 'a', effect: 'NoSchedule' },
    { key: 'b', effect: 'PreferNoSchedule' },
  ]);
  it('considers only the given effects', () => {
    expect(toleratesTaints(pod({}), tainted, ['NoExecute'])).toBe(true);
    expect(toleratesTaints(pod({}), tainted, ['NoSchedule', 'NoExecute'])).toBe(false);
    const tolerant = pod({ tolerations: [{ key: 'a', operator: 'Exists' }] });
    expect(toleratesTaints(tolerant, tainted, ['NoSchedule', 'NoExecute'])).toBe(true);
    expect(toleratesTaints(tolerant, tainted, ['PreferNoSchedule'])).toBe(false);
  });
});
