/**
 * Manifests of the first proposal of IngressClasses, applied with kubectl in a cluster whose routers are real processes, and the
 * contract of provisioners with these routers.
 */
import { request } from 'node:http';
import { type Ingress, KubeClient, loadConfig } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster, eventually } from '../support/cluster.ts';
import { PROVISIONER_CONTRACT } from '../support/provisioner-contract.ts';
import { classObject, parametersObject } from './support.ts';

const ask = ({ ip, port }: { ip?: string; port: number }, host: string): Promise<number | undefined> =>
  new Promise((resolve) => {
    const outgoing = request({ host: ip, port, headers: { host }, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    outgoing.on('error', () => resolve(undefined));
    outgoing.end();
  });

/** An IngressClass as the proposal has it. */
const proposed = (name: string, provisioner: string, more: object = {}, metadata: object = {}) => ({
  apiVersion: 'network.k8s.io/v1',
  kind: 'IngressClass',
  metadata: { name, ...metadata },
  provisioner,
  ...more,
});

const isDefault = { annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } };

describe('manifests of network.k8s.io/v1 and extensions/v1beta1', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start('--nodes', 'a');
  });
  afterAll(() => cluster.stop());

  it('are accepted by the API server, and read back as they were written', async () => {
    await cluster.kubectl.apply(
      proposed('gold', 'kubernetes.io/gce', {
        parameters: { type: 'standard-https', serviceType: 'NodePort' },
      }),
      // The proposal has a namespace here, although the kind is cluster-scoped.
      proposed('standard', 'kubernetes.io/nginx', {}, { ...isDefault, namespace: 'default' }),
    );
    expect(await cluster.kubectl.json('get ingressclasses.network.k8s.io gold')).toMatchObject({
      apiVersion: 'network.k8s.io/v1',
      provisioner: 'kubernetes.io/gce',
      parameters: { type: 'standard-https', serviceType: 'NodePort' },
    });
    const list = await cluster.kubectl.run('get ingressclass');
    expect(list).toMatch(/gold +kubernetes.io\/gce/);
    expect(list).toMatch(/standard \(default\) +kubernetes.io\/nginx/);
    await cluster.kubectl.apply(
      proposed('gold', 'kubernetes.io/gce', { parameters: { serviceType: 'NodePort' } }),
    );
    expect(await cluster.kubectl.json('get ingressclasses.network.k8s.io gold')).toMatchObject({
      parameters: { serviceType: 'NodePort' },
    });
  });

  it('with an invalid parameter are refused with its key', async () => {
    const bad = proposed('bad', 'kubernetes.io/nginx', { parameters: { replicas: 'many' } });
    await expect(cluster.kubectl.apply(bad)).rejects.toThrow(/replicas: "many" is invalid: write a number/);
  });

  it('give an Ingress without a class the address of a router of the default class', async () => {
    await cluster.kubectl.apply({
      apiVersion: 'extensions/v1beta1',
      kind: 'Ingress',
      metadata: { name: 'old', namespace: 'default' },
      spec: {
        rules: [
          {
            host: 'old.example',
            http: { paths: [{ path: '/', backend: { serviceName: 'web', servicePort: 80 } }] },
          },
        ],
      },
    });
    const { ip = '', ports } = await eventually('the Ingress has an address', async () => {
      const { spec, status } = await cluster.kubectl.json<Ingress>('get ingress old');
      expect(spec?.ingressClassName).toBe('standard');
      return status?.loadBalancer?.ingress?.[0];
    });
    // The Service does not exist: 503, not 404.
    expect(await ask({ ip, port: ports?.[0]?.port ?? 0 }, 'old.example')).toBe(503);
  });
});

describe('routers in the cluster', () => {
  let cluster: Cluster;
  let client: KubeClient;
  beforeAll(async () => {
    cluster = await Cluster.start('--nodes', 'a');
    const env = { KUBECONFIG: `${cluster.state}/kubeconfig` };
    client = new KubeClient(await loadConfig({ env }));
    await cluster.kubectl.run('create namespace shop');
    await cluster.kubectl.apply(parametersObject('gold', { drainTime: '1s' }), classObject('gold', 'gold'));
  });
  afterAll(async () => {
    await client.close();
    await cluster.stop();
  });

  it.each(PROVISIONER_CONTRACT)('$name', ({ run }) => run({ client, className: 'gold', ask }));
});
