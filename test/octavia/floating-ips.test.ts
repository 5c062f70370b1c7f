import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Session } from '../../packages/tidegate/src/dataplane/octavia/index.ts';
import { Neutron } from '../../packages/tidegate/src/dataplane/octavia/openstack/index.ts';
import { FloatingIps } from '../../packages/tidegate/src/dataplane/octavia/run/floating-ips.ts';
import { NeutronServer } from './support/neutron.ts';
import { never, openCloud, session } from './support/routers.ts';

const PORT = '5c71a29a-0dc1-461e-81ee-2258a7e3842d';
const OTHER_PORT = '6d82b3ab-1ed2-472f-92ff-3369b8f4953e';
const EXTERNAL = { externalSubnetId: NeutronServer.EXTERNAL_SUBNET, keepFloatingIp: false };
const KEPT = { ...EXTERNAL, keepFloatingIp: true };
const NONE = { keepFloatingIp: false };

let neutron: NeutronServer;
let calls: Session;
let floatingIps: FloatingIps;

beforeAll(async () => {
  neutron = await NeutronServer.start(['172.24.4.14', '172.24.4.15', '172.24.4.16']);
  calls = session(openCloud(neutron.url, { network: neutron.url }));
  floatingIps = new FloatingIps(new Neutron(calls), 'test');
});
afterAll(async () => {
  await calls?.close();
  await neutron?.stop();
});
beforeEach(async () => {
  const all = new Neutron(calls);
  for (const { id } of await all.list({})) await all.release(id);
});

const ensure = async (wanted: Parameters<FloatingIps['ensure']>[2], port = PORT) =>
  (await floatingIps.ensure('gold', port, wanted, never))?.address;
const release = (wanted: Parameters<FloatingIps['release']>[1], port: string | undefined = PORT) =>
  floatingIps.release('gold', wanted, port, never);
/** Address, port and whether it is marked as kept. */
const existing = () =>
  [...neutron.floatingIps.values()].map(({ floating_ip_address: address, port_id: port, description }) =>
    [address, port, ...(description.endsWith(' (kept)') ? ['kept'] : [])].join(' '),
  );
/** A floating IP of a user. */
const made = async (port?: string) =>
  (
    await new Neutron(calls).allocate({
      floating_network_id: NeutronServer.EXTERNAL_NETWORK,
      ...(port !== undefined && { port_id: port }),
    })
  ).address;

describe('the floating IP of a router', () => {
  test('is allocated once, follows the load balancer, and is released with the router', async () => {
    const address = await ensure(EXTERNAL);
    expect(await ensure(EXTERNAL)).toBe(address);
    expect(await ensure(EXTERNAL, OTHER_PORT)).toBe(address);
    expect(existing()).toEqual([`${address} ${OTHER_PORT}`]);
    expect(await floatingIps.routers(never)).toEqual(['gold']);
    await release(NONE);
    expect(existing()).toEqual([]);
  });

  test('survives the router if the class says so, also if nothing is known of the class any more', async () => {
    const address = await ensure(KEPT);
    await release(NONE);
    expect(existing()).toEqual([`${address}  kept`]);
    // It is not a leftover.
    expect(await floatingIps.routers(never)).toEqual([]);
    expect(await ensure(EXTERNAL)).toBe(address);
    expect(existing()).toEqual([`${address} ${PORT}`]);
  });

  test('can be one of the user, which is unassigned and never deleted', async () => {
    const address = await made();
    expect(await ensure({ ...NONE, floatingIp: address })).toBe(address);
    await release({ ...NONE, floatingIp: address });
    expect(existing()).toEqual([`${address} `]);
  });

  test('is not taken from another port', async () => {
    const address = await made(OTHER_PORT);
    await expect(ensure({ ...NONE, floatingIp: address })).rejects.toThrow(
      `The floating IP ${address} is in use by port ${OTHER_PORT}: unassign it`,
    );
    await release({ ...NONE, floatingIp: address });
    expect(existing()).toEqual([`${address} ${OTHER_PORT}`]);
  });

  test('that does not exist is reported', async () => {
    await expect(ensure({ ...NONE, floatingIp: '192.0.2.1' })).rejects.toThrow(
      'does not exist in this project',
    );
  });

  test('is replaced by one of the user, and released if the class wants none', async () => {
    await ensure(EXTERNAL);
    const address = await made();
    expect(await ensure({ ...EXTERNAL, floatingIp: address })).toBe(address);
    expect(existing()).toEqual([`${address} ${PORT}`]);
    await release({ ...NONE, floatingIp: address });
    await ensure(EXTERNAL);
    expect(await ensure(NONE)).toBeUndefined();
    expect(existing()).toEqual([`${address} `]);
  });

  test('is allocated again when the class gets a subnet of another network', async () => {
    await ensure(EXTERNAL);
    await ensure({ ...EXTERNAL, externalSubnetId: NeutronServer.OTHER_SUBNET });
    expect([...neutron.floatingIps.values()].map((each) => each.floating_network_id)).toEqual([
      NeutronServer.OTHER_NETWORK,
    ]);
  });
});
