/** Tests provisioners that are not part of Tidegate: one that only an object declares, and one that the manager calls. */
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Condition, getCondition, INGRESSES, type Ingress, type KubeObject } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { runProvisioner } from '../../examples/provisioner/provisioner.ts';
import { L7_ROUTERS, type L7Router } from '../../packages/tidegate/src/api/index.ts';
import { NOT_CONFIGURED } from '../../packages/tidegate/src/dataplane/octavia/index.ts';
import type {
  LoadBalancer,
  ParameterRule,
  ParameterSchema,
  ProvisionContext,
  Provisioner,
  Reconciled,
  RouterSnapshot,
} from '../../packages/tidegate/src/ingress/provisioners/index.ts';
import { eventually } from '../support/patience.ts';
import { PROVISIONER_CONTRACT } from '../support/provisioner-contract.ts';
import { IngressWorld, ingressObject, parametersObject, undefinedIfGone } from './support.ts';

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
      await world.remove(INGRESSES, name, 'shop').catch(undefinedIfGone);
    await eventually(async () => (await world.routers()).length === 0);
  });

  it('does not get hosts that need a capability it does not declare, and a condition and an event report it', async () => {
    const plain = ingressObject('plain', 'f5', ['plain.example']);
    const demanding = ingressObject('demanding', 'f5', ['demanding.example']);
    const annotations = { 'tidegate.io/ssl-redirect': 'true' };
    await world.make(plain, { ...demanding, metadata: { ...demanding.metadata, annotations } });
    await expect
      .poll(() => world.eventsOf('Ingress', 'demanding'))
      .toContainEqual(
        expect.stringContaining(
          'NotSupported: spec: The provisioner example.com/f5 does not support redirects',
        ),
      );
    await world.routersAre('f5: plain.example');
    const condition = async () => {
      const { status } = (await world.router('f5')) ?? {};
      return getCondition(status?.conditions as Condition[] | undefined, 'HostsPlaced');
    };
    await expect.poll(condition).toMatchObject({ status: 'False', reason: 'NotSupported' });
    expect(await world.addressesOf('demanding')).toEqual([]);
    await world.make(demanding);
    await world.routersAre('f5: demanding.example plain.example');
    await expect.poll(condition).toMatchObject({ status: 'True' });
    for (const name of ['plain', 'demanding']) await world.remove(INGRESSES, name, 'shop');
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
  let reason: string | undefined;
  let idPrefix = 'id';
  let isStuck = (_router: string): boolean => false;
  const stuck: (() => void)[] = [];
  let isHeld = (_router: string): boolean => false;
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
      if (isStuck(`${metadata.name}`)) await new Promise<void>((resolve) => stuck.push(resolve));
      if (!balancers.has(`${metadata.name}`)) balancers.set(`${metadata.name}`, undefined);
      const ip = metadata.name === 'cloud' ? '192.0.2.10' : '192.0.2.11';
      const loadBalancer: LoadBalancer = { id: `${idPrefix}-${metadata.name}`, name: 'lb' };
      return { addresses: [{ ip }], ready: true, loadBalancer };
    },
    remove: async ({ metadata }) => {
      calls.push(`remove ${metadata.name}`);
      if (isHeld(`${metadata.name}`)) return { gone: false, againAfterMs: 20 };
      balancers.delete(`${metadata.name}`);
      return { gone: true };
    },
    reconcile: async ({ metadata }, snapshot, signal, progress): Promise<Reconciled> => {
      // As if every call for this host alone took very long: only newer routes end it.
      if (metadata.name === 'long' && !snapshot.hosts.has('longer.example')) {
        calls.push('working on long');
        while (progress?.isOutdated() === false && !signal.aborted)
          await new Promise((resolve) => setTimeout(resolve, 20));
        calls.push('outdated long');
        return { failed: new Map(), incomplete: true };
      }
      if (failure !== undefined) throw Object.assign(new Error(failure), reason && { reason });
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

  it('gets hosts without routes if they need a capability it does not have', async () => {
    const ingress = ingressObject('redirect', 'cloud', ['redirect.example']);
    const annotations = { 'tidegate.io/ssl-redirect': 'true' };
    await world.make({ ...ingress, metadata: { ...ingress.metadata, annotations } });
    await expect
      .poll(() => world.eventsOf('Ingress', 'redirect'))
      .toContainEqual(
        expect.stringContaining('NotSupported: The provisioner tidegate.io/cloud does not support redirects'),
      );
    // Without an entry, a wildcard above the host would answer its requests.
    expect(balancers.get('cloud')?.hosts.get('redirect.example')).toMatchObject({
      routes: [],
      fallback: { backends: [{ upstream: 'shop__closed' }] },
    });
    expect(balancers.get('cloud')?.hosts.get('redirect.example')?.redirectToHttps).toBeUndefined();
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

  it('gets the complete state when its load balancer is another one, and the router is not ready before', async () => {
    calls.length = 0;
    failure = 'the new load balancer is not there yet: wait';
    idPrefix = 'replaced';
    await world.make(parametersObject('cloud', { flavor: 'large', drainTime: '1s' }));
    await expect
      .poll(async () => (await world.router('cloud'))?.status)
      .toMatchObject({ loadBalancer: { id: 'replaced-cloud' } });
    expect((await world.router('cloud'))?.status?.appliedGeneration).toBeUndefined();
    expect(conditionOf(await world.router('cloud'), 'Ready')).toContain('False NotProgrammed');
    failure = undefined;
    await expect.poll(() => calls).toContain('reconcile cloud from 0');
    await eventually(async () => {
      const { metadata, status } = (await world.router('cloud'))!;
      return status?.appliedGeneration === metadata.generation;
    });
    await eventually(async () => (await world.addressesOf('late'))[0] === '192.0.2.10');
  });

  it('gives the reason of an error to the condition', async () => {
    failure = 'no room: ask for a larger quota';
    reason = 'QuotaExceeded';
    await world.makeClass('full', { flavor: 'small', drainTime: '1s' }, 'tidegate.io/cloud');
    await world.make(ingressObject('full', 'full', ['full.example']));
    await expect
      .poll(async () => conditionOf(await world.router('full'), 'Programmed'))
      .toBe('False QuotaExceeded: no room: ask for a larger quota');
    failure = undefined;
    reason = undefined;
    await expect.poll(async () => conditionOf(await world.router('full'), 'Programmed')).toContain('True');
    await world.remove(INGRESSES, 'full', 'shop');
    await eventually(async () => (await world.router('full')) === undefined);
  });

  it('can return early when the routes change, and is called again with the newer ones', async () => {
    await world.makeClass('long', { flavor: 'small', drainTime: '1s' }, 'tidegate.io/cloud');
    await world.make(ingressObject('long', 'long', ['long.example']));
    await eventually(() => calls.includes('working on long'));
    expect(await world.addressesOf('long')).toEqual([]);
    await world.make(ingressObject('longer', 'long', ['longer.example']));
    await eventually(() => calls.includes('outdated long'));
    await expect.poll(() => hostsOf('long')).toEqual(['long.example', 'longer.example']);
    await eventually(async () => (await world.addressesOf('longer'))[0] === '192.0.2.11');
    for (const name of ['long', 'longer']) await world.remove(INGRESSES, name, 'shop');
    await eventually(async () => (await world.router('long')) === undefined);
  });

  it('is called for a router while its calls for many others do not return', async () => {
    isStuck = (router) => router.startsWith('stuck');
    const names = Array.from({ length: 8 }, (_, index) => `stuck-${index}`);
    for (const name of names) {
      await world.makeClass(name, { flavor: 'small', drainTime: '1s' }, 'tidegate.io/cloud');
      await world.make(ingressObject(name, name, [`${name}.example`]));
    }
    await eventually(() => names.every((name) => calls.some((call) => call.startsWith(`ensure ${name} `))));
    await world.makeClass('free', { flavor: 'small', drainTime: '1s' }, 'tidegate.io/cloud');
    await world.make(ingressObject('free', 'free', ['free.example']));
    await eventually(async () => (await world.addressesOf('free'))[0] === '192.0.2.11');
    isStuck = () => false;
    for (const end of stuck.splice(0)) end();
    for (const name of [...names, 'free']) await world.remove(INGRESSES, name, 'shop');
    await eventually(async () => (await world.routers()).length === 1);
  });

  it('does not get a router back whose removal has begun', async () => {
    const routers = async () => (await world.routers()).filter((router) => router.startsWith('left'));
    const parameters = (maxHosts: string) => parametersObject('left', { maxHosts, drainTime: '1s' });
    await world.makeClass('left', { maxHosts: '1', drainTime: '1s' }, 'tidegate.io/cloud');
    for (const name of ['left-a', 'left-b'])
      await world.make(ingressObject(name, 'left', [`${name}.example`]));
    await expect.poll(routers).toEqual(['left-2: left-b.example', 'left: left-a.example']);
    // Both hosts on the first router, so that the second one is removed, which takes long.
    isHeld = (router) => router === 'left-2';
    const both = ingressObject('left-both', 'left', ['left-a.example', 'left-b.example']);
    for (const { http } of (both as Ingress).spec?.rules ?? [])
      for (const each of http?.paths ?? []) each.path = '/both';
    await world.make(parameters('2'), both);
    await expect.poll(() => calls.filter((call) => call === 'remove left-2').length).toBeGreaterThan(60);
    expect(calls.slice(calls.indexOf('remove left-2'))).not.toContain('ensure left-2 undefined');
    // After a restart, the manager does not know yet whether the other router serves the hosts.
    await world.stopControllers();
    calls.length = 0;
    world.startControllers();
    await expect.poll(() => calls.filter((call) => call === 'remove left-2').length).toBeGreaterThan(5);
    // The first router is deleted too, and the hosts have no router that serves them.
    isStuck = (router) => router.startsWith('left-');
    await world.remove(L7_ROUTERS, 'left');
    await expect.poll(() => calls).toContain('ensure left-3 undefined');
    calls.splice(0, calls.length, ...calls.filter((call) => call.startsWith('ensure')));
    await expect.poll(() => calls.filter((call) => call === 'remove left-2').length).toBeGreaterThan(5);
    expect(calls).not.toContain('ensure left-2 undefined');
    [isStuck, isHeld] = [() => false, () => false];
    for (const end of stuck.splice(0)) end();
    await expect.poll(routers).toEqual(['left-3: left-a.example left-b.example']);
    for (const name of ['left-a', 'left-b', 'left-both']) await world.remove(INGRESSES, name, 'shop');
    await expect.poll(routers).toEqual([]);
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

describe('a class of Octavia in a manager without a cloud', () => {
  let world: IngressWorld;
  beforeAll(async () => {
    world = await IngressWorld.start({ provisioners: [NOT_CONFIGURED] });
  });
  afterAll(() => world.stop());

  it('gets a router that reports what is missing, and that can be deleted', async () => {
    await world.makeClass('cloud', { drainTime: '1s' }, 'tidegate.io/octavia');
    await world.make(ingressObject('web', 'cloud', ['web.example']));
    await expect
      .poll(async () =>
        getCondition((await world.router('cloud'))?.status?.conditions as Condition[], 'Ready'),
      )
      .toMatchObject({
        status: 'False',
        reason: 'NotConfigured',
        message: expect.stringContaining('Start the part routers of the manager with --octavia'),
      });
    expect(await world.addressesOf('web')).toEqual([]);
    await world.remove(INGRESSES, 'web', 'shop');
    await eventually(async () => (await world.routers()).length === 0);
  });

  it('has its parameters checked', async () => {
    await world.makeClass('wrong', { subnetId: 'red', color: 'red' }, 'tidegate.io/octavia');
    await world.make(ingressObject('wrong', 'wrong', ['wrong.example']));
    await expect
      .poll(() => world.eventsOf('IngressClass', 'wrong'))
      .toEqual([expect.stringMatching(/color: is not a parameter.*subnetId: "red" is invalid/)]);
  });
});
