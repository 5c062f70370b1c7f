import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONVERTED_FIELDS_ANNOTATION } from './names.ts';
import type { NodePool, NodePoolVersion } from './node-pool.ts';
import { convertNodePool } from './node-pool-conversion.ts';

const VERSIONS: readonly NodePoolVersion[] = ['v1alpha1', 'v1beta1', 'v1beta2'];

const words = fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.string({ maxLength: 5 }));
const pushed = {
  type: fc.constantFrom('Edge', 'Cloud'),
  labels: words,
  annotations: words,
  taints: fc.array(
    fc.record({ key: fc.constantFrom('a', 'b'), effect: fc.constantFrom('NoSchedule', 'NoExecute') }),
  ),
};
const counted = {
  readyNodeNum: fc.nat(9),
  unreadyNodeNum: fc.nat(9),
  nodes: fc.array(fc.constantFrom('n1', 'n2')),
};
const specs: Record<NodePoolVersion, Record<string, fc.Arbitrary<unknown>>> = {
  v1alpha1: { ...pushed, selector: fc.record({ matchLabels: words }, { requiredKeys: [] }) },
  v1beta1: { ...pushed, hostNetwork: fc.boolean() },
  v1beta2: {
    ...pushed,
    hostNetwork: fc.boolean(),
    interConnectivity: fc.boolean(),
    leaderElectionStrategy: fc.constantFrom('random', 'mark'),
    leaderNodeLabelSelector: words,
    enableLeaderElection: fc.boolean(),
    poolScopeMetadata: fc.array(fc.record({ version: fc.constant('v1'), resource: fc.constant('services') })),
    leaderReplicas: fc.nat(3),
  },
};
const statuses: Record<NodePoolVersion, Record<string, fc.Arbitrary<unknown>>> = {
  v1alpha1: counted,
  v1beta1: counted,
  v1beta2: {
    ...counted,
    leaderEndpoints: fc.array(fc.record({ nodeName: fc.constant('n1'), address: fc.constant('10.0.0.1') })),
    leaderNum: fc.nat(3),
    leaderLastElectedTime: fc.constant('2026-01-01T00:00:00Z'),
  },
};

const poolAt = (version: NodePoolVersion): fc.Arbitrary<NodePool> =>
  fc
    .record(
      {
        annotations: fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.string({ maxLength: 5 }), {
          minKeys: 1,
        }),
        spec: fc.record(specs[version], { requiredKeys: [] }),
        status: fc.record(statuses[version], { requiredKeys: [] }),
      },
      { requiredKeys: [] },
    )
    .map(({ annotations, spec, status }) => {
      const pool = {
        apiVersion: `apps.openyurt.io/${version}`,
        kind: 'NodePool',
        metadata: annotations === undefined ? { name: 'p' } : { name: 'p', annotations },
        ...(spec && { spec }),
        ...(status && { status }),
      };
      return JSON.parse(JSON.stringify(pool)) as NodePool;
    });

const anyPool = fc
  .constantFrom(...VERSIONS)
  .chain((version) => poolAt(version).map((pool) => ({ version, pool })));

describe('convertNodePool', () => {
  it('keeps all fields through any sequence of versions', () => {
    fc.assert(
      fc.property(
        anyPool,
        fc.array(fc.constantFrom(...VERSIONS), { maxLength: 4 }),
        ({ version, pool }, way) => {
          const back = convertNodePool(way.reduce(convertNodePool, pool), version);
          expect(back).toEqual(pool);
        },
      ),
    );
  });

  it('returns only fields of the version', () => {
    fc.assert(
      fc.property(anyPool, fc.constantFrom(...VERSIONS), ({ pool }, version) => {
        const converted = convertNodePool(pool, version);
        expect(converted.apiVersion).toBe(`apps.openyurt.io/${version}`);
        expect(Object.keys(specs[version])).toEqual(
          expect.arrayContaining(Object.keys(converted.spec ?? {})),
        );
        expect(Object.keys(statuses[version])).toEqual(
          expect.arrayContaining(Object.keys(converted.status ?? {})),
        );
      }),
    );
  });

  it('keeps hostNetwork and the leader fields when a v1beta1 client updates the pool', () => {
    const stored: NodePool = {
      apiVersion: 'apps.openyurt.io/v1beta2',
      kind: 'NodePool',
      metadata: { name: 'p' },
      spec: { type: 'Edge', hostNetwork: true, leaderReplicas: 2 },
    };
    const seen = convertNodePool(stored, 'v1beta1');
    expect(seen.spec).toEqual({ type: 'Edge', hostNetwork: true });
    const written = { ...seen, spec: { ...seen.spec, labels: { site: 'x' } } };
    expect(convertNodePool(written, 'v1beta2').spec).toEqual({
      type: 'Edge',
      hostNetwork: true,
      leaderReplicas: 2,
      labels: { site: 'x' },
    });
    expect(
      convertNodePool(written, 'v1beta2').metadata.annotations?.[CONVERTED_FIELDS_ANNOTATION],
    ).toBeUndefined();
  });
});
