/**
 * A pool of numbers. Numbers are allocated randomly from the upper part of the range, because users request numbers
 * from the lower part explicitly. The lower part is used only when the upper part is full. See KEP-3070.
 */
export interface NumberRange {
  first: number;
  last: number;
  /** Number of values at the start that are kept for explicit requests as long as possible. */
  reserved: number;
}

export function pickFree(
  range: NumberRange,
  isTaken: (value: number) => boolean,
  random: () => number,
): number | undefined {
  const { first, last, reserved } = range;
  const split = first + Math.min(reserved, last - first);
  return probe(split, last, isTaken, random) ?? probe(first, split - 1, isTaken, random);
}

function probe(
  first: number,
  last: number,
  isTaken: (value: number) => boolean,
  random: () => number,
): number | undefined {
  const size = last - first + 1;
  const start = Math.floor(random() * size);
  for (let i = 0; i < size; i++) {
    const value = first + ((start + i) % size);
    if (!isTaken(value)) return value;
  }
  return undefined;
}

export const toNumber = (ip: string): number =>
  ip.split('.').reduce((value, byte) => value * 256 + Number(byte), 0);

export const toAddress = (value: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');

export interface AddressRange extends NumberRange {
  cidr: string;
}

/** The addresses of an IPv4 range for services: all except the first and the last. */
export function addressRange(cidr: string): AddressRange {
  const [base = '', bits = ''] = cidr.split('/');
  const size = 2 ** (32 - Number(bits));
  const network = Math.floor(toNumber(base) / size) * size;
  return {
    cidr,
    first: network + 1,
    last: network + size - 2,
    reserved: Math.min(Math.max(16, Math.floor(size / 16)), 256),
  };
}

export interface PortRange extends NumberRange {
  text: string;
}

export function portRange(text: string): PortRange {
  const [first = 0, last = 0] = text.split('-').map(Number);
  const size = last - first + 1;
  const reserved = size < 16 ? 0 : Math.min(Math.max(16, Math.floor(size / 32)), 128);
  return { text, first, last, reserved };
}
