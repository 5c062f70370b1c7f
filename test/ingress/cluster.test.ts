/**
 * The two use cases of the L7 router of Kuryr, in a cluster whose routers are real processes: the Ingress is created
 * before its Service, or the Service before its Ingress.
 */
import { request } from 'node:http';
import type { Ingress, KubeList, Pod } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { L7Router } from '../../packages/tidegate/src/api/index.ts';
import { Cluster, eventually } from '../support/cluster.ts';

const s1 = [
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 's1' },
    spec: {
      selector: { matchLabels: { app: 's1' } },
      template: {
        metadata: { labels: { app: 's1' } },
        spec: { containers: [{ name: 's1', image: 's1', ports: [{ containerPort: 8080 }] }] },
      },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 's1' },
    spec: { selector: { app: 's1' }, ports: [{ port: 80, targetPort: 8080 }] },
  },
];
const ingress = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name: 'test' },
  spec: {
    ingressClassName: 'gold',
    rules: [
      {
        host: 'www.example.com',
        http: {
          paths: [
            { path: '/', pathType: 'Prefix', backend: { service: { name: 's1', port: { number: 80 } } } },
          ],
        },
      },
    ],
  },
};

interface Address {
  ip: string;
  port: number;
}

describe('a router in a cluster', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start('--nodes', 'a');
    await cluster.kubectl.apply({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: 'gold' },
      spec: { controller: 'tidegate.io/embedded' },
    });
  });
  afterAll(() => cluster.stop());

  const routers = async (): Promise<L7Router[]> =>
    (await cluster.kubectl.json<KubeList<L7Router & Ingress>>('get l7routers')).items;
  /** Waits for the address in the status of the Ingress. */
  const addressOfIngress = (): Promise<Address> =>
    eventually('the Ingress has an address', async () => {
      const { status } = await cluster.kubectl.json<Ingress>('get ingress test');
      const [{ ip = '', ports = [] } = {}] = status?.loadBalancer?.ingress ?? [];
      return ports[0] === undefined ? undefined : { ip, port: ports[0].port };
    });
  const answers = (address: Address, code: number): Promise<string> =>
    eventually(`an answer ${code}`, async () => {
      const answer = await ask(address);
      return answer.code === code ? answer.body : undefined;
    });
  const routerIsGone = async (): Promise<void> => {
    await eventually('the router is gone', async () => (await routers()).length === 0 || undefined);
    await eventually('its pods are gone', async () => {
      const { items } = await cluster.kubectl.json<KubeList<Pod>>('get pods -n tidegate-routers');
      return items.length === 0 || undefined;
    });
  };

  test('responds with 503 until the Service of the Ingress is created', async () => {
    await cluster.kubectl.apply(ingress);
    const address = await addressOfIngress();
    await answers(address, 503);
    expect(await routers()).toMatchObject([
      { metadata: { name: 'gold' }, spec: { hosts: ['www.example.com'] }, status: { hosts: 1, rules: 1 } },
    ]);
    await cluster.kubectl.apply(...s1);
    expect(await answers(address, 200)).toContain('"pod": "s1-');
    await cluster.kubectl.run('delete ingress test');
    await routerIsGone();
  });

  test('serves an Ingress whose Service exists, until the Ingress is deleted', async () => {
    await cluster.kubectl.apply(ingress);
    const address = await addressOfIngress();
    expect(await answers(address, 200)).toContain('"namespace": "default"');
    await cluster.kubectl.run('delete ingress test');
    await routerIsGone();
    await expect(ask(address)).rejects.toThrow();
  });
});

function ask({ ip, port }: Address): Promise<{ code: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { host: ip, port, path: '/', headers: { host: 'www.example.com' }, agent: false },
      (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => {
          body += chunk.toString();
        });
        response.on('end', () => resolve({ code: response.statusCode, body }));
        response.on('error', reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.end();
  });
}
