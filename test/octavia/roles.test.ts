/** The three roles in Kuryr's design of an L7 router: router manager, Ingress controller, endpoint controller. */
import { INGRESSES, type KubeObject, NODES } from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ROUTER_STATE_ANNOTATION } from '../../packages/tidegate/src/api/index.ts';
import { readKuryrConf } from '../../packages/tidegate/src/dataplane/octavia/index.ts';
import {
  Octavia,
  type OctaviaObject,
  type Session,
} from '../../packages/tidegate/src/dataplane/octavia/openstack/index.ts';
import { IngressWorld } from '../ingress/support.ts';
import { NeutronServer } from './support/neutron.ts';
import { OctaviaServer } from './support/octavia.ts';
import { openCloud, PROJECT, provisioner, SUBNET, session } from './support/routers.ts';

let server: OctaviaServer;
let neutron: NeutronServer;
let calls: Session;
let octavia: Octavia;
let world: IngressWorld;

/** The file of the design. */
const KURYR_CONF = `
[neutron_defaults]
external_svc_subnet=${NeutronServer.EXTERNAL_SUBNET}
service_subnet=${SUBNET}
[kubernetes]
l7_router_driver= neutron_l7_policy
`;

beforeAll(async () => {
  server = await OctaviaServer.start();
  neutron = await NeutronServer.start();
  calls = session(openCloud(server.url, { network: neutron.url }));
  octavia = new Octavia(calls);
  const kuryr = readKuryrConf(KURYR_CONF);
  world = await IngressWorld.start({ provisioners: [provisioner(server, calls, 'test', kuryr)] });
  await world.make({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } });
});
afterEach(async () => {
  await world.client.deleteCollection(INGRESSES, { namespace: 'shop' });
  await world.routersAre();
});
afterAll(async () => {
  await world?.stop();
  await calls?.close();
  await neutron?.stop();
  await server?.stop();
});

const makeClass = () =>
  world.makeClass(
    'gold',
    { certificates: 'local', publishNodeAnnotation: 'true', drainTime: '1s' },
    'tidegate.io/octavia',
  );

/** The Ingress of the design, in today's version. */
const ingress: KubeObject = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name: 'test', namespace: 'shop' },
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

const service: KubeObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 's1', namespace: 'shop' },
  spec: { clusterIP: 'None', ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
};

const endpoints = (...addresses: string[]): KubeObject => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 's1-1', namespace: 'shop', labels: { 'kubernetes.io/service-name': 's1' } },
  addressType: 'IPv4',
  endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
  ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
});

const pools = (): Promise<OctaviaObject[]> => octavia.list('pools', { project_id: PROJECT, name: 'shop_s1' });
const members = async (): Promise<string[]> => {
  const [pool] = await pools();
  if (pool === undefined) return ['no pool'];
  return (await octavia.members(pool.id))
    .map(({ address, protocol_port: port }) => `${address}:${port}`)
    .sort();
};
const policies = async (): Promise<string[]> => {
  const all = await octavia.list('l7policies', { project_id: PROJECT });
  const ids = new Map(
    (await octavia.list('pools', { project_id: PROJECT })).map(({ id, name }) => [id, name]),
  );
  return Promise.all(
    all.map(async ({ id, redirect_pool_id: pool }) => {
      const rules = await octavia.rules(id);
      return `${rules.map(({ type, value }) => `${type} ${value}`).join(' and ')} -> ${ids.get(`${pool}`)}`;
    }),
  );
};
const WWW = 'HOST_NAME ^www\\.example\\.com\\.?(:[0-9]{0,5})?$ -> shop_s1';
const removeAll = async (): Promise<void> => {
  await world.client
    .delete(
      { group: '', version: 'v1', resource: 'services', namespaced: true },
      { name: 's1', namespace: 'shop' },
    )
    .catch(() => {});
  await world.client
    .delete(
      { group: 'discovery.k8s.io', version: 'v1', resource: 'endpointslices', namespaced: true },
      { name: 's1-1', namespace: 'shop' },
    )
    .catch(() => {});
};

describe('the L7 router manager', () => {
  test('creates a load balancer with a floating IP, and publishes all fields of the node annotation', async () => {
    await makeClass();
    await world.make(service, endpoints('10.1.0.1'), ingress);
    await expect.poll(() => world.addressesOf('test')).toEqual(['172.24.4.14']);
    const [found] = await octavia.list('loadbalancers', { project_id: PROJECT });
    const annotation = async () =>
      JSON.parse(
        (await world.client.get(NODES, { name: 'node-1' })).metadata.annotations?.[ROUTER_STATE_ANNOTATION] ??
          'null',
      );
    await expect.poll(annotation).toEqual({
      'versioned_object.data': {
        fip: '172.24.4.14',
        router_lb: {
          'versioned_object.data': {
            id: found?.id,
            ip: found?.vip_address,
            name: 'gold',
            port_id: found?.vip_port_id,
            project_id: PROJECT,
            subnet_id: SUBNET,
          },
          'versioned_object.name': 'LBaaSLoadBalancer',
          'versioned_object.namespace': 'kuryr_kubernetes',
          'versioned_object.version': '1.0',
        },
      },
      'versioned_object.name': 'L7RouterState',
      'versioned_object.namespace': 'kuryr_kubernetes',
      'versioned_object.version': '1.0',
    });
    const [floating] = neutron.floatingIps.values();
    expect(floating?.port_id).toBe(found?.vip_port_id);
  });

  test('releases the floating IP and the load balancer when the last Ingress is deleted', async () => {
    await world.routersAre();
    expect(neutron.floatingIps.size).toBe(0);
    expect(await octavia.list('loadbalancers', { project_id: PROJECT })).toEqual([]);
    await removeAll();
  });
});

describe('the Ingress controller and the endpoint controller', () => {
  test('use case A: create the Ingress, then the Service and its endpoints', async () => {
    await makeClass();
    await world.make(ingress);
    await expect.poll(members).toEqual([]);
    await expect.poll(policies).toEqual([WWW]);
    await world.make(service, endpoints('10.1.0.1', '10.1.0.2'));
    await expect.poll(members).toEqual(['10.1.0.1:8080', '10.1.0.2:8080']);
    await world.make(endpoints('10.1.0.2', '10.1.0.3'));
    await expect.poll(members).toEqual(['10.1.0.2:8080', '10.1.0.3:8080']);
  });

  test('use case B: create the Service and its endpoints, then the Ingress, then delete the Ingress', async () => {
    await makeClass();
    await world.make(service, endpoints('10.1.0.1'));
    expect(await pools()).toEqual([]);
    // Another Ingress keeps the router alive.
    const other = { ...ingress, metadata: { name: 'other', namespace: 'shop' } };
    const rules = [{ ...(ingress.spec as { rules: object[] }).rules[0], host: 'other.example.com' }];
    await world.make({
      ...other,
      spec: { ...(ingress.spec as object), rules: JSON.parse(JSON.stringify(rules).replace('s1', 's2')) },
    });
    await world.make(ingress);
    await expect.poll(members).toEqual(['10.1.0.1:8080']);
    await expect.poll(policies).toContain(WWW);
    await world.remove(INGRESSES, 'test', 'shop');
    await expect.poll(policies).not.toContain(WWW);
    await expect.poll(members).toEqual(['no pool']);
    await removeAll();
  });
});
