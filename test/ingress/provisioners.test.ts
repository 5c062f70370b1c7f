/** Tests provisioners that are not part of Tidegate: one that only an object declares, and one that the manager calls. */
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Condition, getCondition, INGRESSES, type KubeObject } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { runProvisioner } from '../../examples/provisioner/provisioner.ts';
import type { L7Router } from '../../packages/tidegate/src/api/index.ts';
import type {
  LoadBalancer,
  ParameterRule,
  ParameterSchema,
  ProvisionContext,
  Provisioner,
  Reconciled,
  RouterSnapshot,
} from '../../packages/tidegate/src/ingress/provisioners/index.ts';
import { eventually } from '../pools/support.ts';
import { PROVISIONER_CONTRACT } from '../support/provisioner-contract.ts';
import { IngressWorld, ingressObject } from './support.ts';

const ask = ({ ip, port }: { ip?: string; port: number }, host: string): Promise<number | undefined> =>
  new Promise((resolve) => {
    const outgoing = request({ host: ip, port, headers: { host }, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    outgoing.on('error', () => resolve(undefined));
    outgoing.end();
  });

describe('a provisioner that a RouterProvisioner declares', () => {
  let world: IngressWorld;
  const stop = new AbortController();
  let running: Promise<unknown>;
  const backend = createServer((_, response) => response.end('hello'));
  beforeAll(async () => {
    world = await IngressWorld.start();
    await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
    const text = readFileSync(
      new URL('../../examples/provisioner/provisioner.yaml', import.meta.url),
      'utf8',
    );
    for (const document of parseAllDocuments(text)) await world.make(document.toJS() as KubeObject);
    await world.make({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'web', namespace: 'shop', labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
      ports: [{ port: (backend.address() as AddressInfo).port }],
    } as KubeObject);
    running = runProvisioner(world.client, stop.signal);
  });
  afterAll(async () => {
    stop.abort();
    await running;
    backend.close();
    await world.stop();
    expect(world.errors).toEqual([]);
  });

  it.each(PROVISIONER_CONTRACT)('$name', ({ run }) => run({ client: world.client, className: 'f5', ask }));

  it('gets its parameters unread, and another router beyond its limits', async () => {
    for (const name of ['x', 'y', 'z']) await world.make(ingressObject(name, 'f5', [`${name}.example`]));
    await eventually(async () => (await world.routers()).length === 2);
    expect((await world.router('f5-2'))?.spec).toMatchObject({
      driver: 'example.com/f5',
      capacity: { maxHosts: 2 },
      parameters: { partition: 'shops', drainTime: '1s' },
    });
    await eventually(async () => (await world.addressesOf('z'))[0] === '127.0.0.1');
    for (const name of ['x', 'y', 'z', 'contract-a'])
      await world.remove(INGRESSES, name, 'shop').catch(() => {});
    await eventually(async () => (await world.routers()).length === 0);
  });

  it('gets no router for a class with parameters that it does not declare', async () => {
    await world.makeClass('bad', { partition: 'a b', color: 'red' }, 'example.com/f5');
    await world.make(ingressObject('bad', 'bad', ['bad.example']));
    await expect
      .poll(() => world.eventsOf('IngressClass', 'bad'))
      .toEqual([
        expect.stringMatching(/color: is not a parameter.*partition: "a b" is invalid: write a name/),
      ]);
    expect(await world.routers()).toEqual([]);
  });
});

describe('a provisioner that the manager calls', () => {
  const calls: string[] = [];
  const balancers = new Map<string, RouterSnapshot | undefined>();
  let failure: string | undefined;
  const flavor: ParameterRule = { description: 'Size.', enum: ['small', 'large'] };
  const parameters: ParameterSchema = { keys: { flavor } };
  const cloud: Provisioner = {
    controller: 'tidegate.io/cloud',
    aliases: [],
    driver: 'cloud',
    limits: { hosts: 3 },
    capabilities: new Set(['tls']),
    parameters,
    programming: 'manager',
    ensure: async ({ metadata }, { parameters }: ProvisionContext) => {
      calls.push(`ensure ${metadata.name} ${parameters.flavor}`);
      if (!balancers.has(`${metadata.name}`)) balancers.set(`${metadata.name}`, undefined);
      const ip = metadata.name === 'cloud' ? '192.0.2.10' : '192.0.2.11';
      const loadBalancer: LoadBalancer = { id: `id-${metadata.name}`, name: 'lb' };
      return { addresses: [{ ip }], ready: true, loadBalancer };
    },
    remove: async ({ metadata }) => ({ gone: balancers.delete(`${metadata.name}`) || true }),
    reconcile: async ({ metadata }, snapshot): Promise<Reconciled> => {
      if (failure !== undefined) throw new Error(failure);
      calls.push(`reconcile ${metadata.name} from ${snapshot.changes.from}`);
      balancers.set(`${metadata.name}`, snapshot);
      const bad = [...snapshot.hosts.keys()].filter((host) => host.startsWith('bad.'));
      return {
        failed: new Map(
          bad.map((host) => [host, { reason: 'QuotaExceeded', message: `no room for ${host}` }]),
        ),
      };
    },
  };
  let world: IngressWorld;
  beforeAll(async () => {
    world = await IngressWorld.start({ provisioners: [cloud] });
    await world.makeClass('cloud', { flavor: 'small', drainTime: '1s' }, 'tidegate.io/cloud');
  });
  afterAll(async () => {
    await world.stop();
  });
  const hostsOf = (router: string): string[] => [...(balancers.get(router)?.hosts.keys() ?? [])].sort();
  const conditionOf = (router: L7Router | undefined, type: string): string => {
    const found = getCondition(router?.status?.conditions as Condition[] | undefined, type);
    return `${found?.status} ${found?.reason}: ${found?.message}`;
  };

  it.each(PROVISIONER_CONTRACT)('$name', ({ run }) => run({ client: world.client, className: 'cloud' }));

  it('reports the load balancer, and gets snapshots with changes only', async () => {
    expect((await world.router('cloud'))?.status).toMatchObject({
      addresses: [{ ip: '192.0.2.10' }],
      loadBalancer: { id: 'id-cloud', name: 'lb' },
    });
    calls.length = 0;
    await world.make(ingressObject('more', 'cloud', ['more.example']));
    await expect.poll(() => hostsOf('cloud')).toEqual(['a.contract.example', 'more.example']);
    expect(calls.find((call) => call.startsWith('reconcile'))).toMatch(/from [1-9]/);
    expect(calls).toContain('ensure cloud small');
  });

  it('keeps the address of a host that it cannot serve out of the status, and reports why', async () => {
    await world.make(ingressObject('bad', 'cloud', ['bad.example']));
    await expect
      .poll(() => world.eventsOf('Ingress', 'bad'))
      .toContain('QuotaExceeded: no room for bad.example');
    const { status } = (await world.router('cloud'))!;
    expect(status?.failedHosts).toEqual([
      { host: 'bad.example', reason: 'QuotaExceeded', message: 'no room for bad.example' },
    ]);
    expect(conditionOf(await world.router('cloud'), 'Programmed')).toContain('False HostsFailed');
    expect(await world.addressesOf('bad')).toEqual([]);
    expect(await world.addressesOf('more')).toEqual(['192.0.2.10']);
    await world.remove(INGRESSES, 'bad', 'shop');
    await expect.poll(async () => (await world.router('cloud'))?.status?.failedHosts).toBeUndefined();
  });

  it('does not get hosts that need a capability it does not have', async () => {
    const ingress = ingressObject('redirect', 'cloud', ['redirect.example']);
    const annotations = { 'tidegate.io/ssl-redirect': 'true' };
    await world.make({ ...ingress, metadata: { ...ingress.metadata, annotations } });
    await expect
      .poll(() => world.eventsOf('Ingress', 'redirect'))
      .toContainEqual(
        expect.stringContaining('NotSupported: The provisioner tidegate.io/cloud does not support redirects'),
      );
    expect(hostsOf('cloud')).not.toContain('redirect.example');
    await world.remove(INGRESSES, 'redirect', 'shop');
  });

  it('is called again after a failure, with the complete state, and the failure is a condition', async () => {
    failure = 'the cloud is down: wait, or call its operator';
    await world.make(ingressObject('late', 'cloud', ['late.example']));
    await expect
      .poll(async () => conditionOf(await world.router('cloud'), 'Programmed'))
      .toBe('False ProgramFailed: the cloud is down: wait, or call its operator');
    expect(await world.addressesOf('late')).toEqual([]);
    calls.length = 0;
    failure = undefined;
    await eventually(async () => (await world.addressesOf('late'))[0] === '192.0.2.10');
    expect(calls).toContain('reconcile cloud from 0');
  });

  it('is called again by a restarted manager, which keeps the status until then', async () => {
    await world.stopControllers();
    calls.length = 0;
    world.startControllers();
    await expect.poll(() => calls).toContain('reconcile cloud from 0');
    expect(await world.addressesOf('late')).toEqual(['192.0.2.10']);
    for (const name of ['late', 'more', 'contract-a']) await world.remove(INGRESSES, name, 'shop');
    await eventually(async () => (await world.routers()).length === 0);
    expect(balancers.size).toBe(0);
  });
});
