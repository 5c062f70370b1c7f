import { isIP } from 'node:net';

/** A network of IPv4 (4 octets) or IPv6 addresses (16 octets). Octets behind the prefix are zero. */
export interface Network {
  readonly octets: readonly number[];
  readonly bits: number;
}

/** Parses an address or a network, for example `10.0.0.0/8` or `2001:db8::1`. Undefined if it is not valid. */
export function readNetwork(text: string): Network | undefined {
  const [address = '', length, ...rest] = text.split('/');
  const octets = octetsOf(address);
  if (octets === undefined || rest.length > 0) return undefined;
  const most = octets.length * 8;
  const bits = length === undefined ? most : /^(0|[1-9][0-9]{0,2})$/.test(length) ? Number(length) : most + 1;
  if (bits > most) return undefined;
  return { octets: octets.map((octet, at) => octet & maskOf(bits, at)), bits };
}

/** The mask for the octet at this index. */
const maskOf = (bits: number, at: number): number => {
  const own = Math.min(8, Math.max(0, bits - at * 8));
  return (0xff << (8 - own)) & 0xff;
};

/** The octets of an address. An IPv4 address in the form of IPv6 (`::ffff:10.0.0.1`) has four. */
export function octetsOf(address: string): number[] | undefined {
  const family = isIP(address);
  if (family === 4) return address.split('.').map(Number);
  if (family !== 6 || address.includes('%')) return undefined;
  const octets = octetsOfIpv6(address);
  const isMapped =
    octets.slice(0, 10).every((octet) => octet === 0) && octets[10] === 255 && octets[11] === 255;
  return isMapped ? octets.slice(12) : octets;
}

function octetsOfIpv6(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const groups = (part: string): number[] =>
    part === ''
      ? []
      : part.split(':').flatMap((group) => {
          if (group.includes('.')) return group.split('.').map(Number);
          const value = Number.parseInt(group, 16);
          return [value >> 8, value & 0xff];
        });
  const [first, last] = [groups(head), groups(tail ?? '')];
  return [...first, ...new Array<number>(16 - first.length - last.length).fill(0), ...last];
}

export const contains = ({ octets, bits }: Network, address: readonly number[]): boolean =>
  address.length === octets.length &&
  octets.every((octet, at) => (address[at]! & maskOf(bits, at)) === octet || at * 8 >= bits);

/** As `10.0.0.0/8`, or as `20:1:d:b8:...` for IPv6, without abbreviations. */
export function networkText({ octets, bits }: Network): string {
  if (octets.length === 4) return `${octets.join('.')}/${bits}`;
  const groups = Array.from({ length: 8 }, (_, at) =>
    ((octets[at * 2]! << 8) | octets[at * 2 + 1]!).toString(16),
  );
  return `${groups.join(':').replace(/(?:^|:)0(?::0)+(?::|$)/, '::')}/${bits}`;
}
