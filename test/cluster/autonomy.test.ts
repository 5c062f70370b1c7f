/** A node without a link: killed processes restart, and what happened meanwhile is reported when the link is mended. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeList, Pod, Service } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster, eventually } from '../support/cluster.ts';
import { ask } from '../support/load.ts';
import { PATIENCE_MS } from '../support/patience.ts';

/**
 * A program in a pod that forwards requests to the API server, with the address, token and CA that the pod receives.
 */
const CLIENT = `
const { readFileSync } = require('node:fs');
const https = require('node:https');
const mount = process.env.CONTAINER_ROOT + '/var/run/secrets/kubernetes.io/serviceaccount/';
require('node:http').createServer((request, response) => {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
  const headers = { authorization: 'Bearer ' + readFileSync(mount + 'token', 'utf8') };
  const options = { host, port, path: request.url, headers, ca: readFileSync(mount + 'ca.crt') };
  https.get(options, (answer) => {
    response.writeHead(answer.statusCode);
    answer.pipe(response);
  }).on('error', (error) => response.writeHead(599).end(String(error)));
}).listen(Number(process.argv[1]), process.argv[2]);
`;

const pod = (name: string, container: object): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: name } },
  spec: {
    nodeSelector: { 'kubernetes.io/hostname': 'edge' },
    terminationGracePeriodSeconds: 1,
    tolerations: [{ operator: 'Exists' }],
    containers: [{ name: 'main', ports: [{ containerPort: 8080 }], ...container }],
  },
});

const OBJECTS = [
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'menu' }, data: { DISH: 'soup' } },
  pod('web', { image: 'web:1', envFrom: [{ configMapRef: { name: 'menu' } }] }),
  pod('client', { image: 'client' }),
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { type: 'NodePort', selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'pods-may-look' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: 'default' }],
  },
];

describe('a node whose link is cut', () => {
  let state: string;
  let cluster: Cluster;
  let address: string;
  let nodePort: number;

  const read = (name: string): Promise<Pod> => cluster.kubectl.json<Pod>(`get pod ${name}`);
  const restarts = ({ status }: Pod): number => status?.containerStatuses?.[0]?.restartCount ?? 0;
  const isReady = ({ status }: Pod): boolean => status?.containerStatuses?.[0]?.ready === true;
  const answers = (): Promise<unknown> => ask(`http://${address}:${nodePort}/hello`);

  /** The response of the API server to a request of the pod, through the hub of its node. */
  async function asPod(path: string): Promise<{ code: number; body: string }> {
    const { status } = await client;
    return new Promise((resolve, reject) => {
      const request = get(
        `http://${status?.podIP}:8080${path}`,
        { agent: false, timeout: PATIENCE_MS },
        (response) => {
          let body = '';
          response.on('data', (chunk) => {
            body += chunk;
          });
          response.on('end', () => resolve({ code: response.statusCode ?? 0, body }));
          response.on('error', reject);
        },
      );
      request.on('timeout', () => request.destroy(new Error(`no answer within ${PATIENCE_MS} ms`)));
      request.on('error', reject);
    });
  }
  let client: Promise<Pod>;
  const services = async (): Promise<(string | undefined)[]> => {
    const { code, body } = await asPod('/api/v1/namespaces/default/services');
    if (code !== 200) throw new Error(`${code}: ${body}`);
    return (JSON.parse(body) as KubeList<Service>).items.map(({ metadata }) => metadata.name).toSorted();
  };

  /** Kills a process and waits until another one runs in its place. */
  async function killed(part: string): Promise<void> {
    const before = await cluster.pidOf(part);
    process.kill(before, 'SIGKILL');
    await eventually(`${part} runs again`, async () =>
      (await cluster.pidOf(part)) !== before && (await stateOf(part)) === 'running' ? true : undefined,
    );
  }
  async function stateOf(part: string): Promise<string | undefined> {
    const { processes } = await cluster.report();
    return processes.find(({ name }) => name === part)?.state;
  }

  beforeAll(async () => {
    state = await mkdtemp(join(tmpdir(), 'tidegate-'));
    const command = [process.execPath, '-e', CLIENT, '{port}', '{podIP}'];
    await writeFile(join(state, 'images.yaml'), JSON.stringify({ images: [{ image: 'client', command }] }));
    cluster = await Cluster.open(state, '--nodes', 'edge,other');
    await cluster.kubectl.apply(...OBJECTS);
    await cluster.kubectl.run('wait --for=condition=Ready pod/web pod/client --timeout=240s');
    client = read('client');
    address = (await client).status?.hostIP ?? '';
    nodePort = (await cluster.kubectl.json<Service>('get service web')).spec?.ports?.[0]?.nodePort ?? 0;
  });
  afterAll(() => cluster?.stop());

  test('with a link, pods reach the API server through the hub of their node', async () => {
    await eventually('the NodePort answers', answers);
    expect(await services()).toEqual(['kubernetes', 'web']);
    expect(await asPod('/api/v1/secrets')).toMatchObject({ code: 403 });
    expect((await asPod('/version')).code).toBe(200);
    const { spec } = await cluster.kubectl.json<Service>('get service kubernetes');
    expect(spec?.clusterIP).not.toBe(address);
  });

  test('restarts hub, agent and pods that are killed, without the link', async () => {
    await cluster.tidegate('cut', 'edge');
    await cluster.kubectl.run('create service clusterip later --tcp=80');
    const container = await cluster.processOf(await read('web'));
    await killed('hub-edge');
    await eventually('the NodePort answers', answers);
    await killed('edge');
    await eventually('the NodePort answers', answers);
    process.kill(container, 'SIGKILL');
    await eventually('the pod has another process', async () =>
      (await cluster.processOf(await read('web'))) !== container ? true : undefined,
    );
    await eventually('the NodePort answers', answers);
    await eventually('the hub still accepts heartbeats of the node', async () => {
      const journal = (await (await fetch(`http://${address}:10267/v1/journal`)).json()) as object[];
      return journal.some((entry) => JSON.stringify(entry).includes('leases')) || undefined;
    });
    // The cluster does not know about it yet, and the pod does not see changes in the cluster.
    expect(restarts(await read('web'))).toBe(0);
    expect(await services()).toEqual(['kubernetes', 'web']);
  });

  test('serves pods what they were allowed to read before, and rejects the rest', async () => {
    expect((await asPod('/api/v1/namespaces/default/secrets')).code).not.toBe(200);
    expect((await asPod('/version')).code).toBe(200);
  });

  test('starts with the cluster, from the cache of its hub', async () => {
    await cluster.tidegate('down');
    cluster = await Cluster.open(state);
    expect(cluster.up.stdout).toContain('Disconnected from the API server: edge.');
    await eventually('the agent runs', async () =>
      (await stateOf('edge')) === 'running' ? true : undefined,
    );
    await eventually('the NodePort answers', answers);
    await eventually('the pod gets a response again', async () =>
      (await services()).length === 2 ? true : undefined,
    );
  });

  test('catches up when the link is mended', async () => {
    await cluster.tidegate('mend', 'edge');
    await cluster.kubectl.run('wait --for=condition=Ready node/edge --timeout=240s');
    await eventually('the cluster knows about the restarts', async () => {
      const web = await read('web');
      return (restarts(web) >= 2 && isReady(web)) || undefined;
    });
    await eventually('the pod sees the new object', async () =>
      (await services()).includes('later') ? true : undefined,
    );
    await cluster.kubectl.apply(pod('late', { image: 'web:2' }));
    await cluster.kubectl.run('wait --for=condition=Ready pod/late --timeout=240s');
    const { items } = await cluster.kubectl.json<KubeList<Pod>>('get pods');
    expect(items.map(({ metadata }) => metadata.name).toSorted()).toEqual(['client', 'late', 'web']);
  });
});
