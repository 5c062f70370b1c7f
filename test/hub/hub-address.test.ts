/** The address of the hub is the same on every node. Two network namespaces are two nodes with one network. */
import { silentLogger } from '@tidegate/kube';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { HubInterface } from '../../packages/tidegate/src/hub/listeners/hub-interface.ts';
import { Network } from '../support/network.ts';
import { run } from '../support/process.ts';

const ADDRESS = '169.254.2.1';
let here: Network;
let there: Network;

beforeEach(async () => {
  // A server in place of the hub.
  here = await Network.open('0.0.0.0:8080');
  there = await Network.open('127.0.0.1:8080');
  await ip(here, 'link add lan type veth peer name lan netns', String(there.pid));
  for (const [network, address] of [
    [here, '192.0.2.1/24'],
    [there, '192.0.2.2/24'],
  ] as const) {
    await ip(network, `addr add ${address} dev lan`);
    await ip(network, 'link set lan up');
  }
  await ip(there, 'route add 169.254.0.0/16 dev lan');
});
afterEach(async () => {
  await here.close();
  await there.close();
});

const ip = (network: Network, ...words: string[]): Promise<string> =>
  run(network.command('ip', ...words.join(' ').split(' ')));
const shell = (network: Network, script: string): Promise<string> => run(network.command('sh', '-c', script));

/** Opens the interface of a hub in the network `here`. */
const open = (): Promise<HubInterface> =>
  HubInterface.open({
    address: ADDRESS,
    log: silentLogger,
    isLocal: async () => false,
    ip: async (args) => void (await ip(here, ...args)),
    arp: {
      interfaces: async () => (await shell(here, 'ls /proc/sys/net/ipv4/conf')).trim().split(/\s+/),
      get: async (name) => (await shell(here, `cat /proc/sys/net/ipv4/conf/${name}/arp_ignore`)).trim(),
      set: async (name, value) =>
        void (await shell(here, `echo ${value} > /proc/sys/net/ipv4/conf/${name}/arp_ignore`)),
    },
  });

/** What a client on the node `there` gets at an address. */
const ask = (address: string): Promise<string> =>
  there
    .get(`http://${address}:8080/`, 'x')
    .catch((error: Error) => /E[A-Z]{5,}/.exec(error.message)?.[0] ?? error.message);

it('is not answered by the hub of another node', async () => {
  const hub = await open();
  expect(await here.get(`http://${ADDRESS}:8080/`, 'x')).toBe('stranger');
  // The other addresses of the node are, and so is this one without the settings of the hub.
  expect(await ask('192.0.2.1')).toBe('stranger');
  expect(await ask(ADDRESS)).toBe('EHOSTUNREACH');
  await shell(here, 'echo 0 > /proc/sys/net/ipv4/conf/lan/arp_ignore');
  await ip(there, 'neigh flush all');
  expect(await ask(ADDRESS)).toBe('stranger');
  await hub.close();
});

it('is not answered by the hub of another node whose kube-proxy runs', async () => {
  // kube-proxy sets this, also after the start of the hub. Linux then treats addresses of scope `host` like others.
  const kubeProxy = (): Promise<string> => shell(here, 'echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet');
  const hub = await open();
  await kubeProxy();
  expect(await ask(ADDRESS)).toBe('EHOSTUNREACH');
  expect(await ask('192.0.2.1')).toBe('stranger');
  await hub.close();
});

it('replaces the setting of an earlier version, which was not enough', async () => {
  await shell(here, 'echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet');
  await shell(here, 'echo 3 > /proc/sys/net/ipv4/conf/lan/arp_ignore');
  const hub = await open();
  expect(await ask(ADDRESS)).toBe('EHOSTUNREACH');
  await hub.close();
});

it('keeps stricter settings of the administrator', async () => {
  await shell(here, 'echo 2 > /proc/sys/net/ipv4/conf/lan/arp_ignore');
  const hub = await open();
  expect((await shell(here, 'cat /proc/sys/net/ipv4/conf/lan/arp_ignore')).trim()).toBe('2');
  expect(await ask(ADDRESS)).toBe('EHOSTUNREACH');
  await hub.close();
});
