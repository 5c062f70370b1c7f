/** IP addresses and networks: `ip("10.0.0.1").family()`, `cidr("10.0.0.0/8").containsIP("10.0.0.1")`. */
import { BlockList, isIP } from 'node:net';
import type { Environment } from '@marcbachmann/cel-js';

const IP = 'net.IP';
const CIDR = 'net.CIDR';

class IpValue {
  readonly text: string;
  readonly family: 4 | 6;

  constructor(text: string) {
    const family = isIP(text);
    // Zones and IPv4-mapped IPv6 addresses are rejected, because they have several notations.
    if (family === 0 || text.includes('%') || (family === 6 && text.includes('.'))) {
      throw new Error(`IP Address "${text}" parse error during conversion from string`);
    }
    this.text = text;
    this.family = family === 4 ? 4 : 6;
  }

  get canonical(): string {
    return this.family === 4 ? this.text : new URL(`http://[${this.text}]`).hostname.slice(1, -1);
  }

  toString(): string {
    return this.canonical;
  }
}

class CidrValue {
  readonly ip: IpValue;
  readonly prefix: number;

  constructor(text: string) {
    const [address = '', prefix = ''] = text.split('/');
    this.ip = new IpValue(address);
    this.prefix = Number(prefix);
    if (!/^(0|[1-9]\d*)$/.test(prefix) || this.prefix > (this.ip.family === 4 ? 32 : 128)) {
      throw new Error(
        `network address parse error during conversion from string: netip.ParsePrefix("${text}")`,
      );
    }
  }

  contains(ip: IpValue): boolean {
    if (ip.family !== this.ip.family) return false;
    const block = new BlockList();
    block.addSubnet(this.ip.text, this.prefix, this.ip.family === 4 ? 'ipv4' : 'ipv6');
    return block.check(ip.text, ip.family === 4 ? 'ipv4' : 'ipv6');
  }

  toString(): string {
    return `${this.ip.canonical}/${this.prefix}`;
  }
}

const succeeds = (make: () => unknown): boolean => {
  try {
    make();
    return true;
  } catch {
    return false;
  }
};

const inNetworks =
  (...networks: string[]) =>
  (ip: IpValue): boolean =>
    networks.some((network) => new CidrValue(network).contains(ip));

export function registerNetworks(environment: Environment): void {
  environment
    .registerType(IP, IpValue)
    .registerType(CIDR, CidrValue)
    .registerFunction(`ip(string): ${IP}`, (text: string) => new IpValue(text))
    .registerFunction('isIP(string): bool', (text: string) => succeeds(() => new IpValue(text)))
    .registerFunction(`${IP}.family(): int`, (ip: IpValue) => BigInt(ip.family))
    .registerFunction(`${IP}.isUnspecified(): bool`, inNetworks('0.0.0.0/32', '::/128'))
    .registerFunction(`${IP}.isLoopback(): bool`, inNetworks('127.0.0.0/8', '::1/128'))
    .registerFunction(`${IP}.isLinkLocalMulticast(): bool`, inNetworks('224.0.0.0/24', 'ff02::/16'))
    .registerFunction(`${IP}.isLinkLocalUnicast(): bool`, inNetworks('169.254.0.0/16', 'fe80::/10'))
    .registerFunction(
      `${IP}.isGlobalUnicast(): bool`,
      (ip: IpValue) =>
        !inNetworks(
          '0.0.0.0/32',
          '::/128',
          '127.0.0.0/8',
          '::1/128',
          '224.0.0.0/4',
          'ff00::/8',
          '169.254.0.0/16',
          'fe80::/10',
          '255.255.255.255/32',
        )(ip),
    )
    .registerFunction(`string(${IP}): string`, (ip: IpValue) => ip.toString())
    .registerOperator(`${IP} == ${IP}`, (a: IpValue, b: IpValue) => a.canonical === b.canonical)
    .registerFunction(`cidr(string): ${CIDR}`, (text: string) => new CidrValue(text))
    .registerFunction('isCIDR(string): bool', (text: string) => succeeds(() => new CidrValue(text)))
    .registerFunction(`${CIDR}.ip(): ${IP}`, (cidr: CidrValue) => cidr.ip)
    .registerFunction(`${CIDR}.prefixLength(): int`, (cidr: CidrValue) => BigInt(cidr.prefix))
    .registerFunction(`${CIDR}.containsIP(string): bool`, (cidr: CidrValue, ip: string) =>
      cidr.contains(new IpValue(ip)),
    )
    .registerFunction(`${CIDR}.containsIP(${IP}): bool`, (cidr: CidrValue, ip: IpValue) => cidr.contains(ip))
    .registerFunction(`${CIDR}.containsCIDR(string): bool`, (a: CidrValue, b: string) =>
      containsCidr(a, new CidrValue(b)),
    )
    .registerFunction(`${CIDR}.containsCIDR(${CIDR}): bool`, containsCidr)
    .registerFunction(`string(${CIDR}): string`, (cidr: CidrValue) => cidr.toString());
  registerIpNamespace(environment);
}

const containsCidr = (a: CidrValue, b: CidrValue): boolean => b.prefix >= a.prefix && a.contains(b.ip);

class IpNamespace {}

function registerIpNamespace(environment: Environment): void {
  environment
    .registerType('net.IPNamespace', IpNamespace)
    .registerConstant('ip', 'net.IPNamespace', new IpNamespace())
    .registerFunction('net.IPNamespace.isCanonical(string): bool', (_: unknown, text: string) => {
      const ip = new IpValue(text);
      return ip.canonical === text;
    });
}
