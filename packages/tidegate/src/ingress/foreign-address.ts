import { BlockList, isIP } from 'node:net';

/** This host (0/8, 127/8, ::, ::1), link-local, multicast and reserved addresses. */
const LOCAL = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 3],
] as const)
  LOCAL.addSubnet(net, prefix, 'ipv4');
for (const [net, prefix] of [
  ['::', 127],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  LOCAL.addSubnet(net, prefix, 'ipv6');

/**
 * Not a loopback, unspecified, link-local or multicast address. Routers connect only to such addresses if a tenant names them:
 * through others, a tenant could reach services of the node, for example the metadata of a cloud.
 */
export function isForeignAddress(address: string): boolean {
  const [, mapped] = /^::ffff:([0-9.]+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return isForeignAddress(mapped);
  const family = isIP(address);
  return family !== 0 && !LOCAL.check(address, family === 4 ? 'ipv4' : 'ipv6');
}
