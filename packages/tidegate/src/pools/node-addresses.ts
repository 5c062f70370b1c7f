import { BlockList, isIP, SocketAddress } from 'node:net';

/** Addresses and ranges that an administrator has configured, for example for the nodes of a pool. */
export interface AddressRanges {
  has(address: string): boolean;
  /** Entries that are neither an address nor a range. They are ignored. */
  readonly invalid: readonly string[];
}

/** Reads comma-separated addresses and ranges: `192.0.2.0/24, 2001:db8::/64, 198.51.100.7`. */
export function parseAddressRanges(text: string): AddressRanges {
  const list = new BlockList();
  const entries = text.split(',').map((entry) => entry.trim());
  const invalid = entries.filter((entry) => entry !== '' && !addTo(list, entry));
  return {
    has: (address) => {
      const plain = plainAddress(address);
      return plain !== undefined && list.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4');
    },
    invalid,
  };
}

function addTo(list: BlockList, entry: string): boolean {
  const [, address = '', length] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
  const family = isIP(address);
  if (family === 0) return false;
  const most = family === 6 ? 128 : 32;
  const prefix = length === undefined ? most : Number(length);
  if (prefix > most) return false;
  list.addSubnet(address, prefix, family === 6 ? 'ipv6' : 'ipv4');
  return true;
}

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/;

/**
 * The one spelling of an IP address; undefined if the text is not an address. Clients treat an IPv4 address and the IPv6
 * address that it is mapped to as equal, so both have the same spelling here.
 */
export function plainAddress(text: string): string | undefined {
  const family = isIP(text);
  if (family !== 6) return family === 4 ? text : undefined;
  const { address } = new SocketAddress({ address: text, family: 'ipv6' });
  return MAPPED.exec(address)?.[1] ?? address;
}
