/** Parses IP addresses and CIDR ranges as the API does: without zones and without leading zeros. */
import { isIP } from 'node:net';

export const INVALID_IP = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
export const INVALID_CIDR = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';

export const isIPv4 = (text: string): boolean => isIP(text) === 4;
export const isIPv6 = (text: string): boolean => isIP(text) === 6 && !text.includes('%');
export const isAddress = (text: string): boolean => isIPv4(text) || isIPv6(text);

export const familyOf = (ip: string): 'IPv4' | 'IPv6' => (ip.includes(':') ? 'IPv6' : 'IPv4');

export function isCIDR(text: string): boolean {
  const match = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text);
  if (match === null) return false;
  const [, ip = '', bits = ''] = match;
  return isAddress(ip) && Number(bits) <= (isIPv4(ip) ? 32 : 128);
}

/** For example `2001:db8::1` for `2001:DB8:0::1`. The address must be valid. */
export const canonicalAddress = (ip: string): string => (isIPv4(ip) ? ip : formatIPv6(groupsOf(ip)));

/** Whether an address is in a range. Both must be valid. */
export function contains(cidr: string, ip: string): boolean {
  const [network = '', bits = ''] = cidr.split('/');
  return familyOf(network) === familyOf(ip) && canonicalCIDR(`${ip}/${bits}`) === canonicalCIDR(cidr);
}

/** True if a valid CIDR has bits after its prefix. */
export const hasHostBits = (cidr: string): boolean => {
  const [ip = '', bits = ''] = cidr.split('/');
  return canonicalCIDR(cidr) !== `${canonicalAddress(ip)}/${bits}`;
};

/** The network of a valid CIDR: all bits after the prefix are zero. */
export function canonicalCIDR(cidr: string): string {
  const [ip = '', bits = ''] = cidr.split('/');
  const isFour = isIPv4(ip);
  const parts = isFour ? ip.split('.').map(Number) : groupsOf(ip);
  const width = isFour ? 8 : 16;
  const masked = parts.map((part, i) => {
    const kept = Math.min(Math.max(Number(bits) - i * width, 0), width);
    return part & ((0xffff << (width - kept)) & (2 ** width - 1));
  });
  return `${isFour ? masked.join('.') : formatIPv6(masked)}/${bits}`;
}

/** The eight groups of an IPv6 address. */
function groupsOf(ip: string): number[] {
  // The last two groups may be written as an IPv4 address.
  const text = ip.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
  const [head = '', tail] = text.split('::');
  const read = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((g) => Number.parseInt(g, 16));
  const before = read(head);
  const after = read(tail ?? '');
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
}

/** The longest run of at least two zero groups is written as `::`. */
function formatIPv6(groups: number[]): string {
  let [start, length] = [0, 1];
  for (let i = 0; i < groups.length; i++) {
    let end = i;
    while (end < groups.length && groups[end] === 0) end++;
    if (end - i > length) [start, length] = [i, end - i];
  }
  const hex = groups.map((group) => group.toString(16));
  if (length < 2) return hex.join(':');
  return `${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}`;
}
