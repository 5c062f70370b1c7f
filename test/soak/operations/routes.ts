/** Ingresses are created, changed and deleted, valid and invalid ones, and certificates are renewed. */
import { X509Certificate } from 'node:crypto';
import { INGRESSES, SECRETS } from '@tidegate/kube';
import type { Chance } from '../../support/random.ts';
import type { Route } from '../route.ts';
import type { World } from '../world.ts';
import type { Operation } from './operation.ts';

const namespace = 'default';
/** The maximum number of routes. */
const MAX_ROUTES = 12;

const add: Operation = async (world, chance) => {
  if (world.routes.size >= MAX_ROUTES) return undefined;
  const number = world.nextNumber();
  const name = `route-${number}`;
  const pool = chance.of(world.sites.pools);
  const service = chance.percent(80) ? 'nginx-service' : 'missing';
  const route: Route = { pool, host: `${name}.example.com`, path: `/shop-${number}`, service };
  const fingerprint = chance.percent(40) ? await certify(world, name, route.host) : undefined;
  await world.client.create(INGRESSES, ingressOf(name, route, fingerprint !== undefined));
  world.routes.set(name, { ...route, fingerprint });
  const how = `${fingerprint ? ', with a certificate' : ''}${service === 'missing' ? ', whose Service does not exist' : ''}`;
  return `create Ingress ${name} in ${pool}${how}`;
};

const change: Operation = async (world, chance) => {
  const [name, route] = some(world, chance) ?? [];
  if (name === undefined || route === undefined) return undefined;
  const changed = { ...route, path: `/shop-${world.nextNumber()}` };
  const { spec } = ingressOf(name, changed, route.fingerprint !== undefined);
  await world.client.patch(INGRESSES, { namespace, name }, 'merge', { spec });
  world.routes.set(name, changed);
  world.forget(route);
  return `change the path of ${name}`;
};

const remove: Operation = async (world, chance) => {
  const [name, route] = some(world, chance) ?? [];
  if (name === undefined || route === undefined) return undefined;
  await world.client.delete(INGRESSES, { namespace, name });
  world.routes.delete(name);
  world.forget(route);
  return `delete Ingress ${name}`;
};

const renew: Operation = async (world, chance) => {
  const certified = [...world.routes].filter(([, { fingerprint }]) => fingerprint !== undefined);
  if (certified.length === 0) return undefined;
  const [name, route] = chance.of(certified);
  const fingerprint = await certify(world, name, route.host);
  world.routes.set(name, { ...route, fingerprint });
  return `renew the certificate of ${name}`;
};

export const ROUTES: Record<string, Operation> = {
  'add a route': add,
  'change a route': change,
  'remove a route': remove,
  'renew a certificate': renew,
};

const some = (world: World, chance: Chance): [string, Route] | undefined =>
  world.routes.size === 0 ? undefined : chance.of([...world.routes]);

/** Returns the fingerprint. */
async function certify({ client, authority }: World, name: string, host: string): Promise<string> {
  const { certificate, key } = authority.issue([host]);
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    type: 'kubernetes.io/tls',
    stringData: { 'tls.crt': certificate, 'tls.key': key },
  };
  await client.patch(SECRETS, { namespace, name }, 'apply', secret, { fieldManager: 'soak', force: true });
  return new X509Certificate(certificate).fingerprint256;
}

const ingressOf = (name: string, { pool, host, path, service }: Route, certified: boolean) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name, namespace },
  spec: {
    ingressClassName: pool,
    ...(certified && { tls: [{ hosts: [host], secretName: name }] }),
    rules: [
      {
        host,
        http: {
          paths: [
            {
              path,
              pathType: 'Prefix' as const,
              backend: { service: { name: service, port: { number: 80 } } },
            },
          ],
        },
      },
    ],
  },
});
