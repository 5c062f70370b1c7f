import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  INGRESSES,
  type Ingress,
  type KubeClient,
  NAMESPACES,
  SECRETS,
  SERVICES,
  type Secret,
} from '@tidegate/kube';
import type { KeyPair } from '@tidegate/kube/certificates';
import { hammer } from '../report.ts';

const namespace = 'bench';
const MOST_SERVICES = 1_000;
const PARALLEL = 16;
/** The Service whose endpoint alternates between two ports. */
export const MOVING = 'moving';
export const SECRET = 'certificate';

export const hostOf = (name: string): string => `${name}.bench.example`;

/** Creates Ingresses with one host each, and one more Ingress whose endpoint and certificate change. */
export async function createObjects(
  client: KubeClient,
  ingresses: number,
  port: number,
  pair: KeyPair,
): Promise<void> {
  await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const services = Math.min(ingresses, MOST_SERVICES);
  await hammer(services, PARALLEL, (i) => createService(client, `service-${i}`, port));
  await createService(client, MOVING, port);
  await client.create(SECRETS, secret(pair));
  await hammer(ingresses, PARALLEL, async (i) => {
    await client.create(INGRESSES, ingress(`ingress-${i}`, `service-${i % services}`));
  });
  const { spec, ...moving } = ingress(MOVING, MOVING);
  const tls = [{ hosts: [hostOf(MOVING)], secretName: SECRET }];
  await client.create(INGRESSES, { ...moving, spec: { ...spec, tls } });
}

async function createService(client: KubeClient, name: string, port: number): Promise<void> {
  await client.create(SERVICES, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace },
    spec: { ports: [{ name: 'http', port: 80 }] },
  });
  await client.create(ENDPOINT_SLICES, slice(name, port));
}

export const slice = (service: string, port: number): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: service, namespace, labels: { 'kubernetes.io/service-name': service } },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
  ports: [{ name: 'http', port, protocol: 'TCP' }],
});

export const ingress = (name: string, service: string): Ingress => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name, namespace },
  spec: {
    ingressClassName: 'bench',
    rules: [
      {
        host: hostOf(name),
        http: {
          paths: [
            {
              path: '/',
              pathType: 'Prefix',
              backend: { service: { name: service, port: { name: 'http' } } },
            },
          ],
        },
      },
    ],
  },
});

export const secret = ({ certificate, key }: KeyPair): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: SECRET, namespace },
  type: 'kubernetes.io/tls',
  data: {
    'tls.crt': Buffer.from(certificate).toString('base64'),
    'tls.key': Buffer.from(key).toString('base64'),
  },
});
