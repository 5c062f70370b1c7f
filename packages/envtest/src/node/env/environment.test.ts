import { mkdir, readFile } from 'node:fs/promises';
import { CONFIG_MAPS, PODS, type Pod, SECRETS, type Service, silentLogger } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Container, EnvError } from '../contracts.ts';
import { podReferences, References } from '../references/index.ts';
import { named, startTestCluster, type TestCluster } from '../testing/cluster.ts';
import { PodEnvironment } from './environment.ts';

let cluster: TestCluster;
let references: References;
let environment: PodEnvironment;
/** The Service `default/kubernetes` as a hub shows it. */
const apiService: Service = named('Service', 'kubernetes', {
  spec: { clusterIP: '127.64.0.1', ports: [{ name: 'https', port: 10268 }] },
});

beforeAll(async () => {
  cluster = await startTestCluster();
  const client = await cluster.node('node-a');
  references = new References({ client, log: silentLogger });
  environment = new PodEnvironment({
    references,
    nodeName: 'node-a',
    nodeIP: '127.64.0.1',
    apiService: () => apiService,
    allocatable: () => ({ cpu: '2', memory: '1Gi' }),
    path: '/usr/bin',
  });
  await cluster.admin.create(
    CONFIG_MAPS,
    named('ConfigMap', 'settings', { data: { color: 'blue', size: 'XL' } }),
  );
  const data = { password: Buffer.from('hunter2').toString('base64') };
  await cluster.admin.create(SECRETS, named('Secret', 'login', { data }));
});

afterAll(async () => {
  await references.close();
  await cluster.stop();
});

let pods = 0;

async function environmentOf(container: Partial<Container>): Promise<Record<string, string>> {
  const main = { name: 'main', image: 'x', ...container };
  const pod = await cluster.admin.create<Pod>(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${++pods}`, namespace: 'default', labels: { app: 'web' } },
    spec: { nodeName: 'node-a', serviceAccountName: 'default', containers: [main] },
  });
  references.hold(pod.metadata.uid!, podReferences(pod));
  const place = cluster.placeOf(pod.metadata.uid!).container('main');
  await mkdir(place.directory, { recursive: true });
  return environment.of(pod, pod.spec!.containers[0]!, place, '127.64.1.2');
}

describe('the environment of a container', () => {
  test('has the variables that every container gets', async () => {
    const env = await environmentOf({});
    expect(env).toEqual({
      PATH: '/usr/bin',
      HOSTNAME: `pod-${pods}`,
      CONTAINER_ROOT: expect.stringMatching(/containers\/main\/root$/),
      KUBECONFIG: expect.stringMatching(/containers\/main\/kubeconfig$/),
      KUBERNETES_SERVICE_HOST: '127.64.0.1',
      KUBERNETES_SERVICE_PORT: '10268',
      KUBERNETES_SERVICE_PORT_HTTPS: '10268',
    });
  });

  test('expands values in order, each with the variables before it', async () => {
    const env = await environmentOf({
      envFrom: [
        { prefix: 'CFG_', configMapRef: { name: 'settings' } },
        { secretRef: { name: 'login' } },
        { configMapRef: { name: 'absent', optional: true } },
      ],
      env: [
        { name: 'A', value: 'one' },
        { name: 'B', value: '$(A) $(CFG_color) $(KUBERNETES_SERVICE_HOST) $(LATER) $$(A)' },
        { name: 'LATER', value: 'x' },
        { name: 'password', value: 'mine' },
      ],
    });
    expect(env).toMatchObject({
      CFG_color: 'blue',
      CFG_size: 'XL',
      password: 'mine',
      B: 'one blue 127.64.0.1 $(LATER) $(A)',
    });
  });

  test('has fields of the pod, resources of the container, and keys of objects', async () => {
    const from = (valueFrom: object, name: string): { name: string; valueFrom: object } => ({
      name,
      valueFrom,
    });
    const field = (fieldPath: string, name: string): object => from({ fieldRef: { fieldPath } }, name);
    const env = await environmentOf({
      resources: { requests: { cpu: '250m' }, limits: { memory: '100Mi' } },
      env: [
        field('metadata.name', 'NAME'),
        field("metadata.labels['app']", 'APP'),
        field("metadata.annotations['none']", 'NOTE'),
        field('spec.nodeName', 'NODE'),
        field('spec.serviceAccountName', 'ACCOUNT'),
        field('status.podIP', 'POD_IP'),
        field('status.hostIP', 'HOST_IP'),
        from({ resourceFieldRef: { resource: 'requests.cpu', divisor: '1m' } }, 'CPU'),
        from({ resourceFieldRef: { resource: 'limits.cpu' } }, 'CPU_LIMIT'),
        from({ resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } }, 'MEMORY'),
        from({ configMapKeyRef: { name: 'settings', key: 'color' } }, 'COLOR'),
        from({ secretKeyRef: { name: 'login', key: 'password' } }, 'PASSWORD'),
        from({ secretKeyRef: { name: 'login', key: 'none', optional: true } }, 'UNSET'),
      ] as Container['env'],
    });
    expect(env).toMatchObject({
      NAME: `pod-${pods}`,
      APP: 'web',
      NOTE: '',
      NODE: 'node-a',
      ACCOUNT: 'default',
      POD_IP: '127.64.1.2',
      HOST_IP: '127.64.0.1',
      CPU: '250',
      CPU_LIMIT: '2',
      MEMORY: '100',
      COLOR: 'blue',
      PASSWORD: 'hunter2',
    });
    expect(env).not.toHaveProperty('UNSET');
  });

  test.each([
    [{ configMapKeyRef: { name: 'absent', key: 'k' } }, 'configmap "absent" not found'],
    [{ secretKeyRef: { name: 'login', key: 'k' } }, "couldn't find key k in Secret default/login"],
  ])('names what is missing: %j', async (valueFrom, message) => {
    const failing = environmentOf({ env: [{ name: 'X', valueFrom }] });
    await expect(failing).rejects.toThrow(new EnvError(message));
  });

  test('leads programs to a mounted token through a kubeconfig', async () => {
    const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
    const place = cluster.placeOf('with-token').container('main');
    await mkdir(`${place.root}${mountPath}`, { recursive: true });
    const container = { name: 'main', volumeMounts: [{ name: 'token', mountPath }] };
    const pod: Pod = named('Pod', 'with-token', { spec: { containers: [container] } });
    const { KUBECONFIG } = await environment.of(pod, container, place, '127.64.1.2');
    expect(JSON.parse(await readFile(KUBECONFIG!, 'utf8'))).toMatchObject({
      clusters: [{ cluster: { server: 'https://127.64.0.1:10268' } }],
    });
  });
});
