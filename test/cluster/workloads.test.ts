/** Workloads in the embedded cluster, as seen through kubectl and HTTP. */

import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeList, Node, Pod, Service } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster, eventually } from '../support/cluster.ts';
import { ask, Load } from '../support/load.ts';

/** A site with one node and a site with two. */
const LAYOUT = {
  nodes: [
    { name: 'node-a', labels: { location: 'hangzhou' } },
    { name: 'node-b', labels: { location: 'beijing' } },
    { name: 'node-c', labels: { location: 'beijing' } },
  ],
};
const NODES = LAYOUT.nodes.map(({ name }) => name);
/** Half the default, and still more than two renewals of a node's lease. */
const NODE_GRACE = '20s';

const web = (image: string, replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [
          {
            name: 'web',
            image,
            ports: [{ containerPort: 8080 }],
            readinessProbe: { httpGet: { path: '/healthz', port: 8080 }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
});

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web' },
  spec: { type: 'NodePort', selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
};

describe('workloads', () => {
  let cluster: Cluster;
  let urls: string[];

  const pods = async (): Promise<Pod[]> =>
    (await cluster.kubectl.json<KubeList<Pod>>('get pods -l app=web')).items;
  const rolledOut = () => cluster.kubectl.run('rollout status deployment/web --timeout=240s');
  /** The operating system processes of the containers. */
  const processOf = async (pod: Pod): Promise<number> => cluster.processOf(pod);

  beforeAll(async () => {
    const state = await mkdtemp(join(tmpdir(), 'tidegate-'));
    const layout = join(await mkdtemp(join(tmpdir(), 'tidegate-layout-')), 'sites.yaml');
    await writeFile(layout, JSON.stringify(LAYOUT));
    cluster = await Cluster.open(state, '-f', layout, '--node-monitor-grace-period', NODE_GRACE);
    await cluster.kubectl.apply(web('web:1', 5), service);
    await rolledOut();
    const { items } = await cluster.kubectl.json<KubeList<Node>>('get nodes');
    const { spec } = await cluster.kubectl.json<Service>('get service web');
    const port = spec?.ports?.[0]?.nodePort;
    urls = items.map((node) => {
      const address = node.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address;
      return `http://${address}:${port}/hello`;
    });
  });
  afterAll(() => cluster?.stop());

  test('has ready nodes at both sites', async () => {
    const { items } = await cluster.kubectl.json<KubeList<Node>>('get nodes');
    expect(items.map(({ metadata }) => [metadata.name, metadata.labels?.location])).toEqual(
      LAYOUT.nodes.map(({ name, labels }) => [name, labels.location]),
    );
  });

  test('serves every replica on the NodePort of every node', async () => {
    const replicas = new Set((await pods()).map(({ metadata }) => metadata.name ?? ''));
    expect(replicas.size).toBe(5);
    for (const url of urls) {
      const seen = new Set<string>();
      await eventually(`all replicas answer at ${url}`, async () => {
        seen.add((await ask(url)).pod);
        return seen.size === replicas.size || undefined;
      });
      expect(seen).toEqual(replicas);
    }
  });

  test('shows logs and follows them until the pod ends', async () => {
    const [pod] = await pods();
    const line = `/seen-by-${Date.now()}`;
    await eventually('the pod has answered', async () => {
      const { pod: answering } = await ask(`${urls[0]?.replace('/hello', line)}`);
      return answering === pod?.metadata.name || undefined;
    });
    expect(await cluster.kubectl.run(`logs ${pod?.metadata.name} --tail=-1`)).toContain(line);
  });

  test('rejects exec as not supported', async () => {
    const [pod] = await pods();
    await expect(cluster.kubectl.run(`exec ${pod?.metadata.name} -- ls`)).rejects.toThrow(
      /exec is not supported/,
    );
  });

  test('fails no request during a rolling update', async () => {
    const load = new Load(urls);
    await cluster.kubectl.apply(web('web:2', 5));
    await rolledOut();
    await cluster.kubectl.run('rollout restart deployment/web');
    await rolledOut();
    // Pods that are still terminating have to end under load too.
    await eventually('the old pods are gone', async () => (await pods()).length === 5 || undefined);
    await load.stop();
    expect(load.failures).toBe('');
    expect(load.pods.size).toBeGreaterThanOrEqual(10);
  });

  test('restarts a pod process that is killed', async () => {
    const [victim] = await pods();
    process.kill(await processOf(victim!), 'SIGKILL');
    const healed = await eventually('the container has restarted and is ready', async () => {
      const pod = (await pods()).find(({ metadata }) => metadata.uid === victim?.metadata.uid);
      const status = pod?.status?.containerStatuses?.[0];
      return (status?.restartCount ?? 0) > 0 && status?.ready === true ? pod : undefined;
    });
    expect(healed.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode).toBe(137);
  });

  test('restarts a node process that is killed, without affecting its pods', async () => {
    const before = await pods();
    const victim = before.find(({ spec }) => spec?.nodeName === 'node-c') ?? before[0]!;
    const node = victim.spec?.nodeName ?? '';
    const running = await processOf(victim);
    const pid = await cluster.pidOf(node);
    process.kill(pid, 'SIGKILL');
    await eventually('the node has another process', async () =>
      (await cluster.pidOf(node)) !== pid ? true : undefined,
    );
    await eventually('its NodePort answers again', () => ask(urls[NODES.indexOf(node)] ?? ''));
    expect(await processOf(victim)).toBe(running);
    const after = await pods();
    expect(after.map(({ metadata }) => metadata.name).toSorted()).toEqual(
      before.map(({ metadata }) => metadata.name).toSorted(),
    );
  });

  test('serves requests while the API server is killed and restarted', async () => {
    const load = new Load(urls);
    const pid = await cluster.pidOf('apiserver');
    process.kill(pid, 'SIGKILL');
    await eventually('kubectl works again', async () => cluster.kubectl.run('get nodes'));
    await cluster.kubectl.run('scale deployment/web --replicas=3');
    await eventually('the cluster accepts changes', async () => (await pods()).length === 3 || undefined);
    await load.stop();
    expect(load.failures).toBe('');
  });

  test('keeps serving at a site that is cut off, and catches up when it is mended', async () => {
    await cluster.kubectl.run('scale deployment/web --replicas=5');
    await rolledOut();
    expect(await cluster.tidegate('cut', 'location=hangzhou')).toBe('Disconnected: node-a\n');
    const load = new Load(urls.slice(0, 1));
    await cluster.kubectl.run('wait --for=condition=Ready=Unknown node/node-a --timeout=240s');
    await load.stop();
    expect(load.failures).toBe('');
    expect(load.answered).toBeGreaterThan(0);
    await cluster.tidegate('mend', 'location=hangzhou');
    await cluster.kubectl.run('wait --for=condition=Ready node/node-a --timeout=240s');
  });
});
