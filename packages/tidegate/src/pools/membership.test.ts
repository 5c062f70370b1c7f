import type { Node } from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CONVERTED_FIELDS_ANNOTATION,
  convertNodePool,
  DESIRED_NODE_POOL_LABEL,
  NODE_GROUP_LABEL,
  NODE_POOL_LABEL,
  type PoolKind,
  WRITTEN_ANNOTATION,
} from '../api/index.ts';
import { nodeFacts, nodeGroupFacts, nodePoolFacts, type PoolFacts } from './facts.ts';
import { type Change, Membership, type MembershipChange } from './membership.ts';
import { decideOwner } from './owner.ts';
import { group, node, pool } from './testing/objects.ts';

const setup = (...changes: Change[]): { membership: Membership; said: MembershipChange[] } => {
  const membership = new Membership();
  const said: MembershipChange[] = [];
  for (const change of changes) membership.apply(change);
  membership.subscribe((change) => said.push(change));
  return { membership, said };
};
const setNode = (object: Node): Change => ({ type: 'Node', name: object.metadata.name!, object });
const setGroup = (...args: Parameters<typeof group>): Change => ({
  type: 'NodeGroup',
  name: args[0],
  object: group(...args),
});
const setPool = (...args: Parameters<typeof pool>): Change => ({
  type: 'NodePool',
  name: args[0],
  object: pool(...args),
});

describe('NodeGroups', () => {
  const hangzhou = setGroup('hangzhou', { matchLabels: { location: 'hangzhou' } });
  const beijing = setGroup('beijing', { matchLabels: { location: 'beijing' } });

  it('reports a move as one change', () => {
    const { membership, said } = setup(hangzhou, beijing, setNode(node('b', { location: 'hangzhou' })));
    expect(membership.poolOf('NodeGroup', 'b')).toBe('hangzhou');
    membership.apply(setNode(node('b', { location: 'beijing', [NODE_GROUP_LABEL]: 'hangzhou' })));
    expect(said).toEqual([{ type: 'moved', kind: 'NodeGroup', node: 'b', from: 'hangzhou', to: 'beijing' }]);
    expect([...membership.nodesOf('NodeGroup', 'beijing')]).toEqual(['b']);
  });

  it('selects no nodes with an empty selector', () => {
    const { membership } = setup(
      setGroup('all', { matchLabels: {} }),
      setGroup('none', {}),
      setNode(node('a')),
    );
    expect(membership.claimantsOf('NodeGroup', 'a')).toEqual([]);
  });

  it('assigns a contested node to the oldest group, and leaves it with its current owner', () => {
    const older = setGroup('z-older', { nodes: ['a'] }, 1);
    const newer = setGroup('a-newer', { nodes: ['a'] }, 2);
    const { membership, said } = setup(newer, setNode(node('a')));
    membership.apply(older);
    expect(membership.poolOf('NodeGroup', 'a')).toBe('z-older');
    expect([...membership.refusedTo('NodeGroup', 'a-newer')]).toEqual(['a']);
    membership.apply(setNode(node('a', { [NODE_GROUP_LABEL]: 'a-newer' })));
    expect(membership.poolOf('NodeGroup', 'a')).toBe('a-newer');
    expect(said.map(({ type }) => type)).toEqual([
      'appeared',
      'moved',
      'refused',
      'moved',
      'settled',
      'refused',
    ]);
  });

  it('releases the nodes of a group that is deleted', () => {
    const { membership, said } = setup(hangzhou, setNode(node('a', { location: 'hangzhou' })));
    membership.apply({
      ...hangzhou,
      object: group('hangzhou', { matchLabels: { location: 'hangzhou' } }, 1, true),
    } as Change);
    expect(said).toEqual([{ type: 'moved', kind: 'NodeGroup', node: 'a', from: 'hangzhou' }]);
  });

  it('reports no change for a heartbeat', () => {
    const { membership, said } = setup(hangzhou, setNode(node('a', { location: 'hangzhou' })));
    membership.apply(setNode(node('a', { location: 'hangzhou' }, { ready: 'False' })));
    expect(said).toEqual([]);
  });
});

describe('NodePools', () => {
  it('selects the nodes of a selector that a conversion has put into the annotation', () => {
    const written = { ...pool('hangzhou', { selector: { matchLabels: { site: 'hz' } } }) };
    const converted = convertNodePool({ ...written, apiVersion: 'apps.openyurt.io/v1alpha1' }, 'v1beta2');
    expect(converted.spec?.selector).toBeUndefined();
    const { membership } = setup(
      { type: 'NodePool', name: 'hangzhou', object: converted },
      setNode(node('n1', { site: 'hz' })),
    );
    expect(membership.poolOf('NodePool', 'n1')).toBe('hangzhou');
    const damaged = {
      ...converted,
      metadata: { ...converted.metadata, annotations: { [CONVERTED_FIELDS_ANNOTATION]: '{' } },
    };
    membership.apply({ type: 'NodePool', name: 'hangzhou', object: damaged });
    expect(membership.poolOf('NodePool', 'n1')).toBeUndefined();
  });

  const written = (name: string): { annotations: Record<string, string> } => ({
    annotations: { [WRITTEN_ANNOTATION]: JSON.stringify({ labels: { [NODE_POOL_LABEL]: name } }) },
  });

  it('own nodes with a label that a user wrote', () => {
    const { membership } = setup(setPool('p'), setNode(node('a', { [NODE_POOL_LABEL]: 'p' })));
    expect(membership.poolOf('NodePool', 'a')).toBe('p');
  });

  it('do not exist only because a node names them', () => {
    const { membership, said } = setup(setNode(node('a', { [NODE_POOL_LABEL]: 'p' })));
    expect(membership.poolOf('NodePool', 'a')).toBeUndefined();
    membership.apply(setPool('p'));
    expect(said.at(-1)).toEqual({ type: 'moved', kind: 'NodePool', node: 'a', to: 'p' });
  });

  it('prefer desired-nodepool over the label, and wait for a pool that does not exist', () => {
    const labels = { [NODE_POOL_LABEL]: 'p', [DESIRED_NODE_POOL_LABEL]: 'q' };
    const { membership } = setup(setPool('p'), setNode(node('a', labels, written('p'))));
    expect(membership.poolOf('NodePool', 'a')).toBe('p');
    membership.apply(setPool('q'));
    expect(membership.poolOf('NodePool', 'a')).toBe('q');
  });

  it('release a node when desired-nodepool is removed, if Tidegate wrote the label', () => {
    const { membership } = setup(setPool('p'), setNode(node('a', { [NODE_POOL_LABEL]: 'p' }, written('p'))));
    expect(membership.poolOf('NodePool', 'a')).toBeUndefined();
  });

  it('keep their nodes while they are being deleted, and accept no new ones', () => {
    const { membership } = setup(
      setPool('p', { selector: { matchLabels: { site: 'x' } } }, 1, true),
      setNode(node('held', { [NODE_POOL_LABEL]: 'p' })),
      setNode(node('new', { site: 'x' })),
    );
    expect([...membership.nodesOf('NodePool', 'p')]).toEqual(['held']);
  });

  it('tolerate an invalid selector', () => {
    const bad = { matchExpressions: [{ key: 'site', operator: 'In', values: ['not a label value!'] }] };
    const { membership } = setup(
      setPool('p', { selector: bad }),
      setNode(node('a', { [NODE_POOL_LABEL]: 'p' })),
    );
    expect(membership.poolOf('NodePool', 'a')).toBe('p');
    expect(nodePoolFacts(pool('p', { selector: bad })).problem).toMatch(/Invalid value/);
  });
});

describe('compared with a model that checks every pool against every node', () => {
  const NODES = ['n1', 'n2', 'n3'];
  const POOLS = ['p1', 'p2', 'p3'];
  const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
  const labels = fc.record(
    {
      site: fc.constantFrom('x', 'y'),
      tier: fc.constantFrom('x', 'y'),
      [NODE_POOL_LABEL]: fc.constantFrom(...POOLS),
      [DESIRED_NODE_POOL_LABEL]: fc.constantFrom(...POOLS),
      [NODE_GROUP_LABEL]: fc.constantFrom(...POOLS),
    },
    { requiredKeys: [] },
  );
  const written = some(
    fc.constantFrom(...POOLS).map((name) => JSON.stringify({ labels: { [NODE_POOL_LABEL]: name } })),
  );
  const matchLabels = fc.record(
    { site: fc.constantFrom('x', 'y'), tier: fc.constantFrom('x', 'y') },
    { requiredKeys: [] },
  );
  const expression = fc.oneof(
    fc.record({ key: fc.constant('site'), operator: fc.constant('In'), values: fc.constant(['x', 'y']) }),
    fc.record({ key: fc.constantFrom('site', 'tier'), operator: fc.constantFrom('Exists', 'DoesNotExist') }),
  );
  const selector = fc.record(
    { matchLabels, matchExpressions: fc.array(expression, { maxLength: 2 }) },
    { requiredKeys: [] },
  );
  const day = fc.integer({ min: 1, max: 3 });
  const nodeChange: fc.Arbitrary<Change> = fc
    .record({ name: fc.constantFrom(...NODES), labels, written, gone: fc.nat(4) })
    .map((n) => {
      const annotations: Record<string, string> =
        n.written === undefined ? {} : { [WRITTEN_ANNOTATION]: n.written };
      const object =
        n.gone === 0 ? undefined : node(n.name, JSON.parse(JSON.stringify(n.labels)), { annotations });
      return { type: 'Node', name: n.name, object };
    });
  const groupChange: fc.Arbitrary<Change> = fc
    .record({
      name: fc.constantFrom(...POOLS),
      matchLabels: some(matchLabels),
      nodes: fc.subarray(NODES),
      day,
      gone: fc.nat(5),
    })
    .map((g) => {
      const object =
        g.gone === 0
          ? undefined
          : group(g.name, { nodes: g.nodes, matchLabels: g.matchLabels }, g.day, g.gone === 1);
      return { type: 'NodeGroup', name: g.name, object };
    });
  const poolChange: fc.Arbitrary<Change> = fc
    .record({ name: fc.constantFrom(...POOLS), selector: some(selector), day, gone: fc.nat(5) })
    .map((p) => {
      const object =
        p.gone === 0
          ? undefined
          : pool(p.name, JSON.parse(JSON.stringify({ selector: p.selector })), p.day, p.gone === 1);
      return { type: 'NodePool', name: p.name, object };
    });

  /** Built from the published changes only. */
  class Hearsay {
    readonly #poolOf = new Map<string, string>();
    readonly #refused = new Set<string>();
    readonly pools = new Set<string>();

    hear = (change: MembershipChange): void => {
      if (change.type === 'appeared') this.pools.add(`${change.kind} ${change.pool}`);
      else if (change.type === 'vanished') this.pools.delete(`${change.kind} ${change.pool}`);
      else if (change.type === 'moved') {
        const key = `${change.kind} ${change.node}`;
        expect(this.#poolOf.get(key)).toBe(change.from);
        if (change.to === undefined) this.#poolOf.delete(key);
        else this.#poolOf.set(key, change.to);
      } else {
        const key = `${change.kind} ${change.node} ${change.pool}`;
        expect(this.#refused.has(key)).toBe(change.type === 'settled');
        if (change.type === 'refused') this.#refused.add(key);
        else this.#refused.delete(key);
      }
    };

    poolOf(kind: PoolKind, name: string): string | undefined {
      return this.#poolOf.get(`${kind} ${name}`);
    }

    refused(kind: PoolKind, name: string, poolName: string): boolean {
      return this.#refused.has(`${kind} ${name} ${poolName}`);
    }
  }

  it('gives the same result after every change, and publishes exactly what changed', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(nodeChange, groupChange, poolChange), { maxLength: 25 }), (changes) => {
        const membership = new Membership();
        const hearsay = new Hearsay();
        membership.subscribe(hearsay.hear);
        const nodes = new Map<string, Node>();
        const pools: Record<PoolKind, Map<string, PoolFacts>> = { NodePool: new Map(), NodeGroup: new Map() };
        for (const change of changes) {
          membership.apply(change);
          if (change.object === undefined)
            (change.type === 'Node' ? nodes : pools[change.type]).delete(change.name);
          else if (change.type === 'Node') nodes.set(change.name, change.object);
          else if (change.type === 'NodePool') pools.NodePool.set(change.name, nodePoolFacts(change.object));
          else pools.NodeGroup.set(change.name, nodeGroupFacts(change.object));
          for (const kind of ['NodePool', 'NodeGroup'] as const) {
            const all = pools[kind];
            for (const name of NODES) {
              const object = nodes.get(name);
              const expected =
                object && decideOwner(kind, nodeFacts(object), all.values(), (p) => all.has(p));
              expect(membership.poolOf(kind, name)).toBe(expected?.owner);
              expect(hearsay.poolOf(kind, name)).toBe(expected?.owner);
              for (const poolName of POOLS) {
                const refused = expected?.refused.includes(poolName) ?? false;
                expect(membership.nodesOf(kind, poolName).has(name)).toBe(expected?.owner === poolName);
                expect(membership.refusedTo(kind, poolName).has(name)).toBe(refused);
                expect(hearsay.refused(kind, name, poolName)).toBe(refused);
              }
            }
            for (const poolName of POOLS)
              expect(hearsay.pools.has(`${kind} ${poolName}`)).toBe(all.has(poolName));
          }
        }
      }),
      { numRuns: 150 },
    );
  });
});
