/** How routers of classes are reached, with Services that kube-proxy and the controllers of Kubernetes know. */
import type { Ingress, KubeList, KubeObject, Pod, PodDisruptionBudget, Service } from '@tidegate/kube';
import { beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/cluster.ts';
import { CLOUD, type RealCluster, ROUTER_ADDRESSES } from '../cluster/cluster.ts';
import { patchStatus } from '../support/objects.ts';

const NAMESPACE = 'tidegate-routers';
const LOAD_BALANCER = '198.51.100.7';
const EXTERNAL = ROUTER_ADDRESSES.replace(/0\/\d+$/, '8');

const CLASSES: Record<string, Record<string, string>> = {
  inside: { serviceType: 'ClusterIP', replicas: '2' },
  balanced: { serviceType: 'LoadBalancer' },
  fixed: { addresses: EXTERNAL },
};

function objectsOf(name: string): object[] {
  const host = `${name}.example.com`;
  const backend = { service: { name: 'nginx-service', port: { number: 80 } } };
  return [
    {
      apiVersion: 'networking.tidegate.io/v1alpha1',
      kind: 'IngressClassParameters',
      metadata: { name, namespace: 'tidegate-system' },
      parameters: CLASSES[name],
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name },
      spec: {
        controller: 'tidegate.io/nginx',
        parameters: { apiGroup: 'networking.tidegate.io', kind: 'IngressClassParameters', name },
      },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name },
      spec: {
        ingressClassName: name,
        rules: [{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }],
      },
    },
  ];
}

export function services(cluster: () => RealCluster): void {
  const serviceOf = (name: string): Promise<Service> =>
    cluster().kubectl.json<Service>(`-n ${NAMESPACE} get service tidegate-router-${name}`);
  /** A client on the node in the cloud, where kube-proxy uses the API server directly. */
  const answered = (name: string, address: string): Promise<string> =>
    eventually(`${name} is answered at ${address}`, () =>
      cluster()
        .node('cloud-1')
        .run('curl', '-sSf', '--max-time', '20', '-H', `Host: ${name}.example.com`, `http://${address}/`),
    );
  const statusOf = async (name: string): Promise<unknown> =>
    (await cluster().kubectl.json<Ingress>(`get ingress ${name}`)).status?.loadBalancer?.ingress;

  const conditionOf = async (router: string, wanted: string): Promise<unknown> => {
    const { status } = await cluster().kubectl.json<
      KubeObject & { status?: { conditions?: { type: string }[] } }
    >(`get l7router ${router}`);
    return status?.conditions?.find(({ type }) => type === wanted);
  };

  beforeAll(async () => {
    await cluster().kubectl.apply(...Object.keys(CLASSES).flatMap(objectsOf));
  });

  test('a router of type ClusterIP is reachable inside of the cluster only', async () => {
    const { spec } = await eventually('the Service exists', () => serviceOf('inside'));
    expect(spec?.type).toBe('ClusterIP');
    expect(spec?.ports?.map(({ nodePort }) => nodePort)).toEqual([undefined, undefined]);
    expect(JSON.parse(await answered('inside', `${spec?.clusterIP}`))).toMatchObject({
      pod: expect.stringMatching('^nginx-'),
    });
  });

  const podsOf = async (router: string): Promise<Pod[]> =>
    (
      await cluster().kubectl.json<KubeList<Pod>>(
        `-n ${NAMESPACE} get pods -l networking.tidegate.io/router=${router}`,
      )
    ).items;

  test('routers without a pool run outside of pools, all replicas of them', async () => {
    for (const name of Object.keys(CLASSES)) {
      await cluster().kubectl.run(
        `-n ${NAMESPACE} rollout status deployment/tidegate-router-${name} --timeout=240s`,
      );
      for (const { spec } of await podsOf(name)) expect(spec?.nodeName).toBe('cloud-1');
      expect(await conditionOf(name, 'SeesAllPools')).toBeUndefined();
    }
  });

  test('a disruption budget keeps one of two replicas', async () => {
    await cluster().kubectl.run(
      `-n ${NAMESPACE} rollout status deployment/tidegate-router-inside --timeout=240s`,
    );
    await eventually('the budget allows one disruption', async () => {
      const { status } = await cluster().kubectl.json<PodDisruptionBudget>(
        `-n ${NAMESPACE} get poddisruptionbudget tidegate-router-inside`,
      );
      return status?.disruptionsAllowed === 1 || undefined;
    });
    const items = await podsOf('inside');
    const evict = ({ metadata: { name = '' } }: Pod): Promise<string> =>
      cluster().kubectl.run(
        `create --raw /api/v1/namespaces/${NAMESPACE}/pods/${name}/eviction -f -`,
        JSON.stringify({
          apiVersion: 'policy/v1beta1',
          kind: 'Eviction',
          metadata: { name, namespace: NAMESPACE },
        }),
      );
    expect(items).toHaveLength(2);
    await evict(items[0]!);
    await expect(evict(items[1]!)).rejects.toThrow('disruption budget');
  });

  test('a router of type LoadBalancer has the address that the cloud assigns', async () => {
    const { spec } = await eventually('the Service exists', () => serviceOf('balanced'));
    expect(spec?.type).toBe('LoadBalancer');
    await patchStatus(cluster().kubectl, `-n ${NAMESPACE} service tidegate-router-balanced`, {
      loadBalancer: { ingress: [{ ip: LOAD_BALANCER }] },
    });
    await answered('balanced', LOAD_BALANCER);
    await eventually('the Ingress has the address', async () => {
      expect(await statusOf('balanced')).toMatchObject([{ ip: LOAD_BALANCER }]);
      return true;
    });
  });

  test('a router with a fixed address is reachable there', async () => {
    // kube-proxy accepts external addresses from other machines only.
    await eventually('fixed is answered', () =>
      cluster().curl(CLOUD, '-H', 'Host: fixed.example.com', `http://${EXTERNAL}/`),
    );
    await eventually('the Ingress has the address', async () => {
      expect(await statusOf('fixed')).toMatchObject([{ ip: EXTERNAL }]);
      return true;
    });
  });

  test('the port of a front door is closed in other pools, and open on nodes outside of pools', async () => {
    const { spec } = await cluster().kubectl.json<Service>(
      '-n ingress-nginx get service tidegate-router-hangzhou',
    );
    const port = spec?.ports?.[0]?.nodePort;
    const request = (node: string): Promise<string> => {
      const { address } = cluster().node(node).options;
      const headers = ['-H', 'Host: www.example.com'];
      return cluster()
        .node('cloud-1')
        .run('curl', '-sSf', '--max-time', '20', ...headers, `http://${address}:${port}/`);
    };
    for (const node of ['node-c', 'node-d']) await expect(request(node)).rejects.toThrow('curl: (7)');
    // A node without a hub opens every node port: docs/reference/filters.md.
    for (const node of ['node-a', 'node-b', 'cloud-1'])
      expect(JSON.parse(await request(node)).pod).toMatch(/^nginx-hangzhou-/);
  });
}
