import type { Node, Pod } from '@tidegate/kube';
import * as fc from 'fast-check';
import type { NodeSpec, PodSpec } from 'kubernetes-types/core/v1.d.ts';
import { describe, expect, it } from 'vitest';
import { Cluster } from './cluster.ts';
import { type Decision, decide } from './decide.ts';

type Extra = { labels?: Record<string, string>; owner?: string; namespace?: string };

const node = (name: string, labels: Record<string, string> = {}, spec: NodeSpec = {}): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
  spec,
  status: { allocatable: { cpu: '2', memory: '4Gi', pods: '3' } },
});

const pod = (name: string, spec: Partial<PodSpec> = {}, extra: Extra = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: extra.namespace ?? 'default',
    labels: extra.labels ?? {},
    ownerReferences:
      extra.owner === undefined
        ? []
        : [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: extra.owner, controller: true }],
  },
  spec: { containers: [{ name: 'c' }], ...spec },
});

const asking = (cpu: string): Partial<PodSpec> => ({
  containers: [{ name: 'c', resources: { requests: { cpu } } }],
});

const far = (app: string, topologyKey = 'kubernetes.io/hostname'): Partial<PodSpec> => ({
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey, labelSelector: { matchLabels: { app } } },
      ],
    },
  },
});

const near = (app: string, topologyKey: string): Partial<PodSpec> => ({
  affinity: {
    podAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey, labelSelector: { matchLabels: { app } } },
      ],
    },
  },
});

function clusterOf(nodes: Node[], placed: [Pod, string][] = []): Cluster {
  const cluster = new Cluster();
  for (const each of nodes) cluster.setNode(each);
  for (const [each, nodeName] of placed) cluster.place(each, nodeName);
  return cluster;
}

const labelsOf = (namespace: string) => ({ 'kubernetes.io/metadata.name': namespace });
const ask = (asked: Pod, cluster: Cluster): Decision => decide(asked, cluster, labelsOf);

/** Decides and places the pods one after the other; returns the node of each. */
const settle = (pods: Pod[], cluster: Cluster): (string | undefined)[] =>
  pods.map((each) => {
    const decision = ask(each, cluster);
    if (!('nodeName' in decision)) return undefined;
    cluster.place(each, decision.nodeName);
    return decision.nodeName;
  });

const many = (count: number, spec: Partial<PodSpec> = {}, extra: Extra = {}): Pod[] =>
  Array.from({ length: count }, (_, i) => pod(`${extra.owner ?? 'p'}-${i}`, spec, extra));

describe('the message when no node fits', () => {
  const helpless = (n: number): string =>
    `no new claims to deallocate, preemption: 0/${n} nodes are available: ${n} Preemption is not helpful for scheduling.`;
  const noVictims = (n: number): string =>
    `no new claims to deallocate, preemption: 0/${n} nodes are available: ${n} No preemption victims found for incoming pod.`;
  const full = [0, 1, 2].map((i): [Pod, string] => [pod(`f${i}`), 'a']);

  it.each<[string, Pod, Node[], [Pod, string][], string]>([
    ['no nodes', pod('p'), [], [], 'no nodes available to schedule pods'],
    [
      'taints and selectors',
      pod('p', { nodeSelector: { location: 'x' } }),
      [node('a'), node('b'), node('c', {}, { taints: [{ key: 'k', effect: 'NoExecute' }] })],
      [],
      `0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) didn't match Pod's node affinity/selector. ${helpless(3)}`,
    ],
    [
      'cordoned',
      pod('p'),
      [node('a', {}, { unschedulable: true })],
      [],
      `0/1 nodes are available: 1 node(s) were unschedulable. ${helpless(1)}`,
    ],
    [
      'resources, more than one',
      pod('p', asking('1')),
      [node('a')],
      [...full.slice(1), [pod('big', asking('1500m')), 'a']],
      `0/1 nodes are available: 1 Insufficient cpu, 1 Too many pods. ${noVictims(1)}`,
    ],
    [
      'larger than any node',
      pod('p', asking('3')),
      [node('a')],
      [],
      `0/1 nodes are available: 1 Insufficient cpu. ${helpless(1)}`,
    ],
    [
      'extended resources',
      pod('p', {
        containers: [{ name: 'c', resources: { requests: { 'example.com/gpu': '1' } } }],
      }),
      [node('a')],
      [],
      `0/1 nodes are available: 1 Insufficient example.com/gpu. ${helpless(1)}`,
    ],
    [
      'host ports',
      pod('p', {
        containers: [{ name: 'c', ports: [{ containerPort: 80, hostPort: 80, hostIP: '127.0.0.1' }] }],
      }),
      [node('a')],
      [[pod('q', { containers: [{ name: 'c', ports: [{ containerPort: 1, hostPort: 80 }] }] }), 'a']],
      `0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. ${noVictims(1)}`,
    ],
    [
      'anti-affinity, both ways',
      pod('p', far('web'), { labels: { app: 'api' } }),
      [node('a'), node('b')],
      [
        [pod('w', {}, { labels: { app: 'web' } }), 'a'],
        [pod('x', far('api')), 'b'],
      ],
      `0/2 nodes are available: 1 node(s) didn't match pod anti-affinity rules, 1 node(s) didn't satisfy existing pods anti-affinity rules. ${noVictims(2)}`,
    ],
    [
      'affinity to a pod that does not exist',
      pod('p', near('db', 'zone')),
      [node('a', { zone: 'z' })],
      [],
      `0/1 nodes are available: 1 node(s) didn't match pod affinity rules. ${helpless(1)}`,
    ],
    [
      'a node by name',
      pod('p', {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] }],
            },
          },
        },
      }),
      [node('a', {}, { unschedulable: true }), node('b'), node('c')],
      [],
      `0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. ${helpless(3)}`,
    ],
    [
      'spread',
      pod(
        'p',
        {
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'zone',
              whenUnsatisfiable: 'DoNotSchedule',
              labelSelector: { matchLabels: { app: 'web' } },
            },
          ],
        },
        { labels: { app: 'web' } },
      ),
      [node('a', { zone: 'x' }), node('b', { zone: 'y' }, { unschedulable: true }), node('c')],
      [[pod('w', {}, { labels: { app: 'web' } }), 'a']],
      `0/3 nodes are available: 1 node(s) didn't match pod topology spread constraints, 1 node(s) didn't match pod topology spread constraints (missing required label), 1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.`,
    ],
  ])('%s', (_, asked, nodes, placed, message) => {
    expect(ask(asked, clusterOf(nodes, placed))).toEqual({ message });
  });
});

describe('the best node', () => {
  const five = [
    node('a', { 'topology.kubernetes.io/zone': 'x' }),
    node('b', { 'topology.kubernetes.io/zone': 'x' }),
    node('c', { 'topology.kubernetes.io/zone': 'y' }),
    node('d', { 'topology.kubernetes.io/zone': 'y' }),
    node('e', { 'topology.kubernetes.io/zone': 'y' }),
  ];

  it('spreads the pods of one owner over nodes, and then over zones', () => {
    expect(settle(many(7, {}, { owner: 'rs' }), clusterOf(five))).toEqual([
      'a',
      'c',
      'b',
      'd',
      'e',
      'a',
      'b',
    ]);
  });

  it('prefers the emptiest node for a pod without an owner', () => {
    expect(settle(many(4, asking('500m')), clusterOf([node('a'), node('b'), node('c')]))).toEqual([
      'a',
      'b',
      'c',
      'a',
    ]);
  });

  it('avoids PreferNoSchedule unless it is tolerated', () => {
    const nodes = [node('a', {}, { taints: [{ key: 'k', effect: 'PreferNoSchedule' }] }), node('b')];
    expect(ask(pod('p'), clusterOf(nodes))).toEqual({ nodeName: 'b' });
    expect(ask(pod('p', { tolerations: [{ operator: 'Exists' }] }), clusterOf(nodes))).toEqual({
      nodeName: 'a',
    });
  });

  it('chooses the preferred node even if it is fuller', () => {
    const preferring = pod('p', {
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, preference: { matchExpressions: [{ key: 'disk', operator: 'Exists' }] } },
          ],
        },
      },
    });
    const cluster = clusterOf([node('a'), node('b', { disk: 'ssd' })], [[pod('q', asking('1')), 'b']]);
    expect(ask(preferring, cluster)).toEqual({ nodeName: 'b' });
  });

  it('honors preferred affinity and anti-affinity between pods', () => {
    const term = (app: string) => [
      {
        weight: 10,
        podAffinityTerm: {
          topologyKey: 'kubernetes.io/hostname',
          labelSelector: { matchLabels: { app } },
          namespaceSelector: {},
        },
      },
    ];
    const cluster = clusterOf(
      [node('a'), node('b'), node('c')],
      [
        [pod('w', {}, { labels: { app: 'web' }, namespace: 'other' }), 'a'],
        [pod('x', asking('1'), { labels: { app: 'db' } }), 'c'],
      ],
    );
    const dislikes = { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: term('web') } };
    expect(ask(pod('p', { affinity: dislikes }), cluster)).toEqual({ nodeName: 'b' });
    const likes = { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: term('db') } };
    expect(ask(pod('p', { affinity: likes }), cluster)).toEqual({ nodeName: 'c' });
  });

  it('lets the first pod of a group with affinity to itself start, and the others follow', () => {
    const cluster = clusterOf(five);
    const group = many(3, near('web', 'topology.kubernetes.io/zone'), { labels: { app: 'web' }, owner: 'o' });
    expect(settle(group, cluster)).toEqual(['a', 'b', 'a']);
  });

  it('looks at other namespaces only when the term names them', () => {
    const other = pod('w', {}, { labels: { app: 'web' }, namespace: 'other' });
    const cluster = clusterOf([node('a')], [[other, 'a']]);
    expect(ask(pod('p', far('web')), cluster)).toEqual({ nodeName: 'a' });
    const spec = far('web');
    spec.affinity!.podAntiAffinity!.requiredDuringSchedulingIgnoredDuringExecution![0]!.namespaceSelector = {
      matchLabels: { 'kubernetes.io/metadata.name': 'other' },
    };
    expect(ask(pod('p', spec), cluster)).toHaveProperty('message');
  });
});

describe('every decision', () => {
  const anyPod = fc.record({
    cpu: fc.constantFrom('0', '250m', '1', '1500m'),
    app: fc.constantFrom('web', 'api'),
    lonely: fc.boolean(),
    owner: fc.constantFrom('rs1', 'rs2'),
    leaves: fc.boolean(),
  });

  it('never exceeds resources, never violates anti-affinity, and does not depend on the order of nodes', () => {
    fc.assert(
      fc.property(fc.array(anyPod, { maxLength: 25 }), (wanted) => {
        const names = ['a', 'b', 'c', 'd'];
        const cluster = clusterOf(names.map((name) => node(name)));
        const mirrored = clusterOf(names.toReversed().map((name) => node(name)));
        wanted.forEach(({ cpu, app, lonely, owner, leaves }, i) => {
          const each = pod(
            `p${i}`,
            { ...asking(cpu), ...(lonely ? far(app) : {}) },
            { labels: { app }, owner },
          );
          const [nodeName] = settle([each], cluster);
          expect(settle([each], mirrored)).toEqual([nodeName]);
          if (leaves) for (const one of [cluster, mirrored]) one.remove(`default/p${i}`);
        });
        for (const { load, allocatable } of cluster.nodes.values()) {
          const placed = [...load.pods.values()];
          expect(placed.length).toBeLessThanOrEqual(3);
          expect(load.requested.get('cpu') ?? 0n).toBeLessThanOrEqual(allocatable.get('cpu') ?? 0n);
          for (const one of placed) {
            if (one.antiAffinity.length === 0) continue;
            const same = placed.filter(
              ({ pod }) => pod.metadata.labels?.app === one.pod.metadata.labels?.app,
            );
            expect(same).toEqual([one]);
          }
        }
      }),
    );
  });
});
