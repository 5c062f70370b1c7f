import type { KubeObject, Resource } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { NODE_POOLS, TOPOLOGY_KEYS_ANNOTATION } from '../../api/index.ts';
import { HubContext } from './context.ts';
import { contextOf, type TestContext } from './testing/context.ts';
import { nodeGroup, nodePool, service } from './testing/objects.ts';
import { TestView } from './testing/test-view.ts';

const scoped = { annotations: { [TOPOLOGY_KEYS_ANNOTATION]: 'openyurt.io/nodepool', other: 'x' } };

/** Collects the notifications of subscribers, as `version: dependencies`. */
function notificationsOf({ context }: TestContext): string[] {
  const lines: string[] = [];
  context.subscribe((dependencies, version) => lines.push(`${version}: ${[...dependencies].join(' ')}`));
  return lines;
}

describe('services', () => {
  it('keeps only the metadata of a Service that decides its scope', () => {
    const { context } = contextOf([service('web', scoped), service('plain', { labels: { app: 'web' } })]);
    expect(context.service('shop/web')?.metadata).toEqual({
      annotations: { [TOPOLOGY_KEYS_ANNOTATION]: 'openyurt.io/nodepool' },
    });
    expect(context.service('shop/plain')?.metadata).toEqual({});
    expect(context.service('shop/ghost')).toBeUndefined();
  });

  it('reports a Service that is created, gains or loses a scope, or is deleted', () => {
    const cluster = contextOf([]);
    const lines = notificationsOf(cluster);
    const { services, context } = cluster;
    services.put(service('web'));
    services.put(service('web', scoped));
    expect(context.service('shop/web')?.metadata.annotations).toBeDefined();
    services.put(service('web'));
    services.delete('shop/web');
    expect(context.service('shop/web')).toBeUndefined();
    expect(lines).toEqual([1, 2, 3, 4].map((version) => `${version}: service:shop/web`));
  });

  it('does not report changes of a Service that filters do not use', () => {
    const cluster = contextOf([service('web', scoped)]);
    const lines = notificationsOf(cluster);
    cluster.services.put({ ...service('web', scoped), status: { loadBalancer: { ingress: [] } } });
    cluster.services.put(service('web', { ...scoped, labels: { app: 'web' } }));
    expect(lines).toEqual([]);
  });

  it('reports changes that arrive together once, with the newest version that made a difference', () => {
    const cluster = contextOf([service('a')]);
    const lines = notificationsOf(cluster);
    cluster.services.put(service('b'), service('c'), service('a'));
    expect(lines).toEqual(['3: service:shop/b service:shop/c']);
  });
});

describe('pools', () => {
  it('reads pools that exist at the start, with the status of either NodeGroup controller', () => {
    const byKubeEdge: KubeObject = {
      ...nodeGroup('h', []),
      status: {
        nodeStatuses: [
          { nodeName: 'c1', readyStatus: 'Ready', selectionStatus: 'Succeeded' },
          { nodeName: 'c2', readyStatus: 'Ready', selectionStatus: 'Failed' },
        ],
      },
    };
    const { membership } = contextOf([
      nodePool('a', ['a1']),
      nodeGroup('g', ['b1']),
      byKubeEdge,
      { ...nodePool('new', []), status: undefined },
    ]).context;
    expect(membership.poolOf('NodePool', 'a1')).toBe('a');
    expect(membership.poolOf('NodeGroup', 'b1')).toBe('g');
    expect(membership.poolOf('NodeGroup', 'c1')).toBe('h');
    expect(membership.poolOf('NodeGroup', 'c2')).toBeUndefined();
  });

  it('reports the nodes that moved, with the version of the pool', () => {
    const cluster = contextOf([nodePool('a', ['a1', 'a2'])]);
    const lines = notificationsOf(cluster);
    cluster.nodePools.put(nodePool('a', ['a1']));
    cluster.nodePools.put(nodePool('b', ['a2', 'b1']));
    cluster.nodePools.put({ ...nodePool('b', ['a2', 'b1']), spec: { type: 'Edge' } });
    cluster.nodePools.delete('a');
    expect(lines).toEqual(['2: node:a2', '3: node:a2 node:b1', '5: node:a1']);
    expect(cluster.context.membership.poolOf('NodePool', 'a1')).toBeUndefined();
  });

  it('reports changes that arrive together after all of them are applied', () => {
    const cluster = contextOf([]);
    const seen: (string | undefined)[] = [];
    const { membership } = cluster.context;
    cluster.context.subscribe(() => {
      seen.push(membership.poolOf('NodePool', 'a1'), membership.poolOf('NodePool', 'b1'));
    });
    cluster.nodePools.put(nodePool('a', ['a1']), nodePool('b', ['b1']));
    expect(seen).toEqual(['a', 'b']);
  });

  it('has no node in a pool if the cluster does not have the kinds of pools', () => {
    const never = new TestView(NODE_POOLS as Resource);
    const { services } = contextOf([service('web')]);
    const context = new HubContext({
      nodeName: 'a1',
      hub: { host: '127.0.0.1', port: 1 },
      services,
      nodePools: never,
      nodeGroups: never,
    });
    expect(never.state).toBe('empty');
    expect(context.membership.poolOf('NodePool', 'a1')).toBeUndefined();
    expect(context.service('shop/web')).toBeDefined();
  });

  it('unsubscribes from the views when it is closed', () => {
    const { context, services, nodePools, nodeGroups } = contextOf([]);
    context.close();
    expect([services, nodePools, nodeGroups].map(({ listeners }) => listeners)).toEqual([0, 0, 0]);
  });
});
