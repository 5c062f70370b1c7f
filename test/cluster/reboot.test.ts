/** A node that loses power while its site is cut off: its pods start with new addresses, and the whole site finds them there. */
import { get } from 'node:http';
import { join } from 'node:path';
import type { EndpointSlice, Endpoints, KubeList, Pod, Service } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster, eventually } from '../support/cluster.ts';
import { ask } from '../support/load.ts';

const OBJECTS = [
  {
    apiVersion: 'apps.openyurt.io/v1beta1',
    kind: 'NodePool',
    metadata: { name: 'site' },
    spec: { type: 'Edge' },
  },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', labels: { app: 'web' } },
    spec: {
      nodeSelector: { 'kubernetes.io/hostname': 'edge' },
      tolerations: [{ operator: 'Exists' }],
      containers: [{ name: 'main', image: 'web:1', ports: [{ containerPort: 8080 }] }],
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { type: 'NodePort', selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
  },
];

describe('a node that loses power while its link is cut', () => {
  let cluster: Cluster;
  let urls: string[];
  let before: string;

  const pod = (): Promise<Pod> => cluster.kubectl.json<Pod>('get pod web');
  const restarts = ({ status }: Pod): number => status?.containerStatuses?.[0]?.restartCount ?? 0;

  /** Asks the hub of a node, as its kubelet does: 1 is `edge`, 2 is `other`. */
  function fromHub<T>(path: string, hub = 1): Promise<T> {
    const socketPath = join(cluster.state, `hub-${hub}.sock`);
    return new Promise((resolve, reject) => {
      const request = get({ socketPath, path, agent: false }, (response) => {
        let body = '';
        response.on('data', (chunk) => {
          body += chunk;
        });
        response.on('end', () =>
          response.statusCode === 200 ? resolve(JSON.parse(body) as T) : reject(new Error(body)),
        );
        response.on('error', reject);
      });
      request.on('error', reject);
    });
  }

  /** The addresses that clients of a node see as ready. */
  async function readyAddresses(hub = 1): Promise<{ slices: string[]; endpoints: string[] }> {
    const { items } = await fromHub<KubeList<EndpointSlice>>(
      '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name=web',
      hub,
    );
    const { subsets = [] } = await fromHub<Endpoints>('/api/v1/namespaces/default/endpoints/web', hub);
    const ready = items.flatMap((slice) => slice.endpoints.filter(({ conditions }) => conditions?.ready));
    return {
      slices: ready.flatMap(({ addresses }) => addresses),
      endpoints: subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip)),
    };
  }

  /** As the kubelet of the node reads it. */
  const addressOnNode = async (): Promise<string | undefined> =>
    (await fromHub<KubeList<Pod>>('/api/v1/pods?fieldSelector=spec.nodeName=edge')).items.find(
      ({ metadata }) => metadata.name === 'web',
    )?.status?.podIP;

  beforeAll(async () => {
    cluster = await Cluster.start('--nodes', 'edge,other');
    await cluster.kubectl.apply(...OBJECTS);
    await cluster.kubectl.run('label nodes edge other apps.openyurt.io/nodepool=site');
    await cluster.kubectl.run('wait --for=condition=Ready pod/web --timeout=240s');
    await cluster.kubectl.run('wait --for=jsonpath={.status.readyNodeNum}=2 nodepool/site --timeout=240s');
    const { status } = await pod();
    before = status?.podIP ?? '';
    const { spec } = await cluster.kubectl.json<Service>('get service web');
    const { nodes } = await cluster.report();
    urls = ['edge', 'other'].map((node) => {
      const { address } = nodes.find(({ name }) => name === node) ?? {};
      return `http://${address}:${spec?.ports?.[0]?.nodePort}/`;
    });
    for (const url of urls) await eventually(`${url} answers`, () => ask(url));
    await eventually('each hub hears the other one', async () => {
      for (const { address } of nodes) {
        const metrics = await (await fetch(`http://${address}:10267/metrics`)).text();
        expect(metrics).toContain('tidegate_hub_group_nodes{state="heard"} 1');
      }
      return true;
    });
  });
  afterAll(() => cluster?.stop());

  test('shows clients of the whole site the pod at its new address', async () => {
    for (const hub of [1, 2])
      expect(await readyAddresses(hub)).toEqual({ slices: [before], endpoints: [before] });
    await cluster.tidegate('cut', 'site');
    expect(await cluster.tidegate('reboot', 'edge')).toBe('Rebooted: edge\n');
    const now = await eventually('the pod has a new address', async () => {
      const address = await addressOnNode();
      return address !== before && address;
    });
    await eventually('the new address is ready', async () => {
      for (const hub of [1, 2])
        expect(await readyAddresses(hub)).toEqual({ slices: [now], endpoints: [now] });
      return true;
    });
    for (const url of urls) await eventually(`${url} answers`, () => ask(url));
    // The cluster does not know about it yet.
    expect((await pod()).status?.podIP).toBe(before);
  });

  test('keeps the pod at its new address when the link is mended', async () => {
    const seen: { slices: string[]; endpoints: string[] }[] = [];
    const now = await addressOnNode();
    await cluster.tidegate('mend', 'site');
    await eventually('the cluster knows the new address', async () => {
      for (const hub of [1, 2]) seen.push(await readyAddresses(hub));
      const current = await pod();
      return current.status?.podIP === now && restarts(current) === 1;
    });
    for (const addresses of seen) expect(addresses).toEqual({ slices: [now], endpoints: [now] });
  });
});
