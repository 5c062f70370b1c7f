/** Tests which addresses users get when a class has several routers, with an embedded API server. */
import { getCondition, INGRESSES } from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/patience.ts';
import { IngressWorld, ingressObject, parametersObject } from './support.ts';

let world: IngressWorld;
beforeAll(async () => {
  world = await IngressWorld.start({ routerPolicy: { addresses: ['192.0.2.0/24'] } });
});
afterEach(() => world.clear());
afterAll(async () => {
  await world.stop();
  expect(world.errors).toEqual([]);
});

const conditionOf = async (router: string, type: string): Promise<string> => {
  const { status } = (await world.router(router)) ?? {};
  const found = getCondition(status?.conditions as never, type);
  return `${found?.status} ${found?.reason}: ${found?.message}`;
};

describe('a class with several routers', () => {
  it('has all hosts of an Ingress on one router, whose address is the only one in its status', async () => {
    await world.makeClass('gold', { maxHosts: '3' });
    await world.make(ingressObject('one', 'gold', ['x.example']));
    await world.routersAre('gold: x.example');
    await world.make(ingressObject('three', 'gold', ['a.example', 'b.example', 'c.example']));
    await world.routersAre('gold-2: a.example b.example c.example', 'gold: x.example');
    for (const router of ['gold', 'gold-2']) {
      await world.run(router);
      await world.serve(router);
    }
    await eventually(async () => (await world.addressesOf('three')).length === 1);
    expect(await world.addressesOf('three')).not.toEqual(await world.addressesOf('one'));
  });

  it('has hosts below a wildcard on the router of the wildcard', async () => {
    await world.makeClass('gold', { maxHosts: '2' });
    await world.make(ingressObject('x', 'gold', ['x.example']), ingressObject('a', 'gold', ['a.sh.example']));
    await world.routersAre('gold: a.sh.example x.example');
    await world.make(ingressObject('all', 'gold', ['*.sh.example']));
    await world.routersAre('gold-2: *.sh.example a.sh.example', 'gold: (a.sh.example) x.example');
  });

  it('does not place hosts that exceed the limits of every router, and says the limit', async () => {
    await world.makeClass('gold', { maxHosts: '2' });
    await world.make(ingressObject('small', 'gold', ['x.example']));
    await world.make(ingressObject('large', 'gold', ['a.example', 'b.example', 'c.example']));
    await expect
      .poll(() => world.eventsOf('Ingress', 'large'))
      .toContainEqual(
        expect.stringMatching(/^CapacityExceeded: Host a.example: .* 3 hosts, .* at most 2 \(maxHosts\)/),
      );
    await expect.poll(() => conditionOf('gold', 'HostsPlaced')).toContain('False CapacityExceeded: 3 hosts');
    expect(await world.routers()).toEqual(['gold: x.example']);
    await world.make(parametersObject('gold', { maxHosts: '4' }));
    await world.routersAre('gold: a.example b.example c.example x.example');
    await expect.poll(() => conditionOf('gold', 'HostsPlaced')).toContain('True Placed');
  });

  it('gives each router an address and a node port of its own, until they run out', async () => {
    await world.makeClass('gold', {
      maxHosts: '1',
      addresses: '192.0.2.1, 192.0.2.2',
      httpNodePort: '30080,30081,30082',
    });
    for (const name of ['a', 'b', 'c']) await world.make(ingressObject(name, 'gold', [`${name}.example`]));
    await eventually(async () => (await world.routers()).length === 3);
    await expect
      .poll(async () => (await world.router('gold'))?.spec.workload)
      .toEqual({ addresses: ['192.0.2.1'], nodePorts: { http: 30080 } });
    expect((await world.router('gold-2'))?.spec.workload).toEqual({
      addresses: ['192.0.2.2'],
      nodePorts: { http: 30081 },
    });
    await expect
      .poll(() => conditionOf('gold-3', 'Provisioned'))
      .toContain('False ProvisionFailed: spec.workload.addresses: all addresses of the class are in use');
    await world.remove(INGRESSES, 'a', 'shop');
    await expect
      .poll(async () => (await world.router('gold-3'))?.spec.workload?.addresses)
      .toEqual(['192.0.2.1']);
  });

  it('does not provision a router without a node port, and gives it one that becomes free', async () => {
    await world.makeClass('gold', { maxHosts: '1', httpNodePort: '30080', httpsNodePort: '30443' });
    for (const name of ['a', 'b']) await world.make(ingressObject(name, 'gold', [`${name}.example`]));
    await eventually(async () => (await world.routers()).length === 2);
    await expect
      .poll(() => conditionOf('gold-2', 'Provisioned'))
      .toContain('False ProvisionFailed: spec.workload.nodePorts: all node ports of the class are in use');
    expect((await world.router('gold'))?.spec.workload?.nodePorts).toEqual({ http: 30080, https: 30443 });
    await world.remove(INGRESSES, 'a', 'shop');
    await expect
      .poll(async () => (await world.router('gold-2'))?.spec.workload?.nodePorts)
      .toEqual({ http: 30080, https: 30443 });
    await expect.poll(() => conditionOf('gold-2', 'Provisioned')).toContain('True Provisioned');
  });
});
