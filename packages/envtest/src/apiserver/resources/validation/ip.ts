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
