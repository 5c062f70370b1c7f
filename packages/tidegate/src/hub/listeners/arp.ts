import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@tidegate/kube';

const DIRECTORY = '/proc/sys/net/ipv4/conf';
/** An interface answers for its own addresses only. kube-proxy sets the same with `strictARP`. */
const OWN_ADDRESSES = '1';
/**
 * These answer for the address of the hub: 0 for all addresses of the host; 3 for those of scope `host` too when `route_localnet` is
 * set, and kube-proxy sets that for node ports on the loopback address.
 */
const NOT_ENOUGH: readonly string[] = ['0', '3'];

/** The setting `arp_ignore` of network interfaces, and of `all` and `default`. */
export interface ArpSettings {
  interfaces(): Promise<readonly string[]>;
  get(name: string): Promise<string>;
  set(name: string, value: string): Promise<void>;
}

/**
 * Makes the node ignore ARP requests of other nodes for the address of its hub, which is the same on every node and is not an
 * address of an interface that leads to other nodes. Linux answers on each interface for all addresses of the host by default:
 * then the pods of a node whose hub is stopped would send their tokens to the hub of a neighbor. Settings of the administrator
 * that are strict enough stay.
 */
export async function answerArpForOwnAddresses(log: Logger, settings: ArpSettings = kernel): Promise<void> {
  try {
    // The higher value of `all` and the interface counts.
    const all = await settings.get('all');
    if (!NOT_ENOUGH.includes(all)) return;
    for (const name of await settings.interfaces())
      if ((name !== 'all' || all !== '0') && NOT_ENOUGH.includes(await settings.get(name)))
        await settings.set(name, OWN_ADDRESSES);
  } catch (error) {
    log.warn(
      { err: error },
      'other nodes of the same network may reach this hub at its address while their own hub is stopped, because the hub cannot change arp_ignore; as root, run "sysctl -w net.ipv4.conf.all.arp_ignore=1", or give each node another --hub-address',
    );
  }
}

const kernel: ArpSettings = {
  interfaces: () => readdir(DIRECTORY),
  get: async (name) => (await readFile(join(DIRECTORY, name, 'arp_ignore'), 'utf8')).trim(),
  set: (name, value) => writeFile(join(DIRECTORY, name, 'arp_ignore'), value),
};
