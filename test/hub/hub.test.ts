/** The hub through its listeners, with the embedded API server behind it. */
import { request } from 'node:http';
import {
  CONFIG_MAPS,
  ENDPOINT_SLICES,
  Informers,
  type KubeClient,
  NODES,
  PODS,
  SECRETS,
  SERVICES,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NODE_POOLS } from '../../packages/tidegate/src/api/index.ts';
import { Edge, NODE } from '../support/edge.ts';
import { nodesIn, service, slice, soon } from '../support/edge-objects.ts';

let edge: Edge;
beforeEach(async () => {
  edge = await Edge.start();
});
afterEach(() => edge.stop());

async function pool(client: KubeClient, name: string, nodes: string[]): Promise<void> {
  const made = await client.create(NODE_POOLS, {
    apiVersion: 'apps.openyurt.io/v1beta2',
    kind: 'NodePool',
    metadata: { name },
    spec: { type: 'Edge' },
  });
  await client.update(NODE_POOLS, { ...made, status: { nodes, readyNodeNum: nodes.length } } as never, {
    subresource: 'status',
  });
}

/** A client like kube-proxy, whose account may read Services and EndpointSlices. */
async function kubeProxy(): Promise<KubeClient> {
  const token = await edge.token('kube-proxy', 'kube-system');
  await edge.allowReading(
    'kube-proxy',
    [
      { group: '', resource: 'services' },
      { group: 'discovery.k8s.io', resource: 'endpointslices' },
    ],
    'kube-system',
  );
  return edge.bearer(token, 'kube-proxy');
}

const inform = (client: KubeClient) => {
  const stop = new AbortController();
  const informers = new Informers(client, { clock: systemClock, log: silentLogger });
  const slices = informers.for(ENDPOINT_SLICES);
  const running = informers.run(stop.signal);
  return {
    slices,
    synced: () => informers.synced(),
    close: async () => {
      stop.abort();
      await running;
    },
  };
};

describe('service scope', () => {
  it('shows kube-proxy the endpoints of its pool, and every change, also after the link was cut', async () => {
    await edge.admin.create(
      SERVICES,
      service('web', { annotations: { 'openyurt.io/topologyKeys': 'openyurt.io/nodepool' } }),
    );
    await edge.admin.create(ENDPOINT_SLICES, slice('web', [NODE, 'near', 'far']));
    await pool(edge.admin, 'here', [NODE, 'near']);
    const proxy = await kubeProxy();
    const informer = inform(proxy);
    try {
      await informer.synced();
      const seen = () => informer.slices.cache.get('default/web-1');
      await soon(() => expect(nodesIn(seen()!)).toEqual([NODE, 'near']));
      const version = seen()!.metadata.resourceVersion;

      // Another node joins the pool. The slice itself does not change.
      const here = await edge.admin.get(NODE_POOLS, { name: 'here' });
      await edge.admin.update(
        NODE_POOLS,
        { ...here, status: { ...here.status, nodes: [NODE, 'near', 'far'] } } as never,
        { subresource: 'status' },
      );
      await soon(() => expect(nodesIn(seen()!)).toEqual([NODE, 'near', 'far']));
      expect(Number(seen()!.metadata.resourceVersion)).toBeGreaterThan(Number(version));

      await edge.cut();
      const list = await proxy.list(ENDPOINT_SLICES);
      expect(list.items.map(nodesIn)).toContainEqual([NODE, 'near', 'far']);
      await edge.admin.patch(SERVICES, { name: 'web', namespace: 'default' }, 'merge', {
        metadata: { annotations: { 'openyurt.io/topologyKeys': 'kubernetes.io/hostname' } },
      });
      await edge.mend();
      await soon(() => expect(nodesIn(seen()!)).toEqual([NODE]));
    } finally {
      await informer.close();
    }
  });
});

describe('an offline node', () => {
  it('can read what it has read before, also after a restart of its hub', async () => {
    const node = edge.node();
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace: 'default' },
      spec: {
        nodeName: NODE,
        containers: [
          { name: 'c', image: 'i', envFrom: [{ secretRef: { name: 's' } }, { configMapRef: { name: 'c' } }] },
        ],
      },
    };
    await edge.admin.create(SECRETS, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace: 'default' },
      stringData: { k: 'v' },
    } as never);
    await edge.admin.create(CONFIG_MAPS, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'c', namespace: 'default' },
      data: { k: 'v' },
    } as never);
    await node.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
    await edge.admin.create(PODS, pod);
    const pods = { fieldSelector: `spec.nodeName=${NODE}` };
    await soon(async () => expect((await node.list(PODS, pods)).items).toHaveLength(1));
    await node.get(SECRETS, { namespace: 'default', name: 's' });
    await node.get(CONFIG_MAPS, { namespace: 'default', name: 'c' });
    await node.get(NODES, { name: NODE });

    await edge.cut();
    await edge.restartHub();
    const again = edge.node();
    expect((await again.list(PODS, pods)).items.map(({ metadata }) => metadata.name)).toEqual(['p']);
    const secret = await again.get(SECRETS, { namespace: 'default', name: 's' });
    expect(secret).toMatchObject({ data: { k: 'dg==' } });
    expect((await again.get(NODES, { name: NODE })).metadata.name).toBe(NODE);
    await expect(
      again.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } }),
    ).rejects.toMatchObject({ reason: 'AlreadyExists' });
    await expect(again.get(SECRETS, { namespace: 'default', name: 'never' })).rejects.toMatchObject({
      code: 503,
    });

    // The hub accepts its status, shows it at once, and sends it to the API server when the link is restored.
    const ready = { type: 'Ready', status: 'True', reason: 'Test', message: 'set offline' };
    await again.patch(NODES, { name: NODE, subresource: 'status' }, 'strategic', {
      status: { conditions: [ready] },
    });
    expect((await again.get(NODES, { name: NODE })) as object).toMatchObject({
      status: { conditions: [ready] },
    });
    await edge.mend();
    await soon(async () =>
      expect(await edge.admin.get(NODES, { name: NODE })).toMatchObject({
        status: { conditions: [ready] },
      }),
    );
  });
});

describe('an Upgrade request', () => {
  it('cannot bypass the filters: a watch over a WebSocket is rejected', async () => {
    const token = await edge.token('app');
    const path = '/apis/discovery.k8s.io/v1/endpointslices?watch=true';
    const answer = await new Promise<number | undefined>((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${token}`,
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      };
      request({ host: '127.0.0.1', port: edge.hub.ports.http, path, headers })
        .on('upgrade', (_, socket) => {
          socket.destroy();
          resolve(101);
        })
        .on('response', (response) => {
          response.resume();
          resolve(response.statusCode);
        })
        .on('error', reject)
        .end();
    });
    expect(answer).toBe(400);
  });
});
