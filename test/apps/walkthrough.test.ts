/** Runs the pools and the application of `examples/story` in the embedded cluster, with kubectl and HTTP clients. */

import type { Deployment, KubeList, KubeObject, Node, Pod, Service } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster, eventually, Stop } from '../support/cluster.ts';
import { ask } from '../support/load.ts';

interface EdgeApplication extends KubeObject {
  status?: {
    manifestStatuses?: {
      identifier: { kind: string; name: string };
      conditions?: { type: string; status: string }[];
    }[];
  };
}

/** Whether a node belongs to the group that its location names. */
const isInItsGroup = ({ metadata: { labels = {} } }: Node): boolean =>
  labels.location !== undefined && labels['apps.kubeedge.io/belonging-to'] === labels.location;

describe('one application at two sites', () => {
  let cluster: Cluster;
  let addresses: Map<string, string>;
  let port: number;

  const podsByNode = async (): Promise<Record<string, string[]>> => {
    const { items } = await cluster.kubectl.json<KubeList<Pod>>('get pods -l app=nginx');
    const placed: Record<string, string[]> = {};
    for (const { spec, metadata } of items) {
      if (metadata.deletionTimestamp !== undefined) continue;
      const deployment = metadata.name?.replace(/-\w+-\w+$/, '') ?? '';
      placed[spec?.nodeName ?? ''] = [...(placed[spec?.nodeName ?? ''] ?? []), deployment];
    }
    return placed;
  };
  /** Sends requests to the NodePort of a node, and returns the nodes whose pods responded. */
  const answersAt = async (node: string): Promise<string[]> => {
    const seen = new Set<string>();
    for (let i = 0; i < 12; i++) seen.add((await ask(`http://${addresses.get(node)}:${port}/`)).node);
    return [...seen].toSorted();
  };

  beforeAll(async () => {
    cluster = await Cluster.start('--no-story');
    await cluster.kubectl.run('apply -f examples/story/1-pools.yaml');
    // Pods that are created before all nodes are in their pools may share a node.
    const items = await eventually('every node of a pool is in it', async () => {
      const nodes = await cluster.kubectl.json<KubeList<Node>>('get nodes');
      return nodes.items.filter(isInItsGroup).length === 5 ? nodes.items : undefined;
    });
    await cluster.kubectl.run('apply -f examples/story/2-application.yaml');
    addresses = new Map(
      items.map(({ metadata, status }) => [metadata.name ?? '', status?.addresses?.[0]?.address ?? '']),
    );
  });
  afterAll(() => cluster?.stop());

  test('each site gets its edition, with its replicas and its registry', async () => {
    for (const [site, replicas] of [
      ['hangzhou', 2],
      ['beijing', 3],
    ] as const) {
      await eventually(`nginx-${site} exists`, () => cluster.kubectl.run(`get deployment nginx-${site}`));
      await cluster.kubectl.run(`rollout status deployment/nginx-${site} --timeout=240s`);
      const { spec } = await cluster.kubectl.json<Deployment>(`get deployment nginx-${site}`);
      expect(spec?.replicas).toBe(replicas);
      expect(spec?.template.spec?.containers.map(({ image }) => image)).toEqual([
        `${site}.registry.io/nginx:latest`,
      ]);
    }
    const placed = await podsByNode();
    expect(new Set([...(placed['node-a'] ?? []), ...(placed['node-b'] ?? [])])).toEqual(
      new Set(['nginx-hangzhou']),
    );
    expect(new Set(['node-c', 'node-d', 'node-e'].flatMap((node) => placed[node] ?? []))).toEqual(
      new Set(['nginx-beijing']),
    );
  });

  test('the Service has the label of its application', async () => {
    const service = await cluster.kubectl.json<Service>('get service nginx-service');
    expect(service.metadata.labels).toMatchObject({
      'groupmanagement.kubeedge.io/edgeapplication-name': 'nginx-app',
    });
    port = service.spec?.ports?.[0]?.nodePort ?? 0;
  });

  test('a client at a site reaches only pods of that site', async () => {
    for (const [client, site] of [
      ['node-a', ['node-a', 'node-b']],
      ['node-c', ['node-c', 'node-d', 'node-e']],
    ] as const) {
      // Ready pods become endpoints a moment later, one by one. Those of another site never do.
      await eventually(`a client at ${client} reaches all pods of its site`, async () => {
        const seen = await answersAt(client);
        const foreign = seen.filter((node) => !site.some((own) => own === node));
        if (foreign.length > 0) throw new Stop(`${client} reached ${foreign.join()}`);
        return seen.length === site.length;
      });
    }
  });

  test('kubectl shows node groups and the status of the application', async () => {
    expect(await cluster.kubectl.run('get nodegroups')).toMatch(/^NAME +.*READY.*AGE/);
    const { status } = await eventually('everything is available', async () => {
      const application = await cluster.kubectl.json<EdgeApplication>('get edgeapplication nginx-app');
      const conditions = application.status?.manifestStatuses?.flatMap(
        (manifest) => manifest.conditions ?? [],
      );
      const available = conditions?.filter(({ type, status }) => type === 'Available' && status === 'True');
      return available?.length === 3 ? application : undefined;
    });
    expect(
      status?.manifestStatuses?.map(({ identifier }) => `${identifier.kind}/${identifier.name}`),
    ).toEqual(
      expect.arrayContaining([
        'Deployment/nginx-hangzhou',
        'Deployment/nginx-beijing',
        'Service/nginx-service',
      ]),
    );
  });

  test('a relabeled node changes its pool, its pods, and the endpoints of its clients', async () => {
    await cluster.kubectl.run('label node node-b location=beijing --overwrite');
    await eventually('node-b is in beijing', async () => {
      const node = await cluster.kubectl.json<Node>('get node node-b');
      return node.metadata.labels?.['apps.kubeedge.io/belonging-to'] === 'beijing' || undefined;
    });
    await eventually('no pod of hangzhou is left on node-b', async () => {
      const placed = await podsByNode();
      return placed['node-b']?.includes('nginx-hangzhou') === true ? undefined : true;
    });
    await cluster.kubectl.run('rollout status deployment/nginx-hangzhou --timeout=240s');
    await eventually('clients at node-a reach node-a only', async () => {
      const seen = await answersAt('node-a');
      return seen.join() === 'node-a' || undefined;
    });
    await eventually('clients at node-b reach beijing', async () => {
      const seen = await answersAt('node-b');
      return seen.every((node) => node !== 'node-a') || undefined;
    });
  });

  test('deleting the application deletes its objects', async () => {
    await cluster.kubectl.run('delete edgeapplication nginx-app --timeout=240s');
    await eventually('nothing is left', async () => {
      const left = await cluster.kubectl.json<KubeList>(
        'get deployments,services -l app.kubernetes.io/managed-by=tidegate',
      );
      const services = await cluster.kubectl.run('get services');
      return left.items.length === 0 && !services.includes('nginx-service') ? true : undefined;
    });
    expect(await cluster.kubectl.run('get deployments')).toContain('No resources found');
  });
});
