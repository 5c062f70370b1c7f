/** Quantities (`500m`, `1.5Gi`, `1e3`): read exactly, and written in the one canonical form that the server stores. */

export interface Quantity {
  /** The value times 10^9: nothing finer is kept. */
  nano: bigint;
  format: 'BinarySI' | 'DecimalSI' | 'DecimalExponent';
}

export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

const FORMAT_WRONG =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX_WRONG = "unable to parse quantity's suffix";
const NUMBER_WRONG = 'unable to parse numeric part of quantity';

const NANO_DIGITS = 9;
const DECIMAL = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const DECIMAL_SUFFIX = new Map([...DECIMAL].map(([suffix, exponent]) => [exponent, suffix]));
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

export function parseQuantity(text: string): Quantity {
  const match = /^([+-]?)([0-9.]+)([eEinumkKMGTP]*)([-+]?[0-9]*)$/.exec(text);
  if (match === null) throw new QuantityError(FORMAT_WRONG);
  const [, sign = '', number = '', suffix = '', exponentText = ''] = match;
  const scale = scaleOf(suffix, exponentText);
  const digits = /^(\d*)\.?(\d*)$/.exec(number);
  if (digits === null || number === '.') throw new QuantityError(NUMBER_WRONG);
  const [, whole = '', fraction = ''] = digits;
  const mantissa = BigInt(`${whole}${fraction}` || '0') * scale.factor;
  const nano = shift(mantissa, NANO_DIGITS - fraction.length + scale.exponent);
  return { nano: sign === '-' ? -nano : nano, format: scale.format };
}

function scaleOf(
  suffix: string,
  exponentText: string,
): { factor: bigint; exponent: number; format: Quantity['format'] } {
  if ((suffix === 'e' || suffix === 'E') && exponentText !== '') {
    const exponent = Number(exponentText);
    if (!Number.isInteger(exponent)) throw new QuantityError(SUFFIX_WRONG);
    return { factor: 1n, exponent, format: 'DecimalExponent' };
  }
  if (exponentText !== '') throw new QuantityError(SUFFIX_WRONG);
  const decimal = DECIMAL.get(suffix);
  if (decimal !== undefined) return { factor: 1n, exponent: decimal, format: 'DecimalSI' };
  const binary = BINARY.indexOf(suffix);
  if (binary === -1) throw new QuantityError(SUFFIX_WRONG);
  return { factor: 1024n ** BigInt(binary), exponent: 0, format: 'BinarySI' };
}

/** Multiplies by a power of ten; what is finer than the result can hold is rounded up. */
function shift(value: bigint, exponent: number): bigint {
  if (exponent >= 0) return value * 10n ** BigInt(exponent);
  const divisor = 10n ** BigInt(-exponent);
  return value % divisor === 0n ? value / divisor : value / divisor + 1n;
}

const ONE = 10n ** BigInt(NANO_DIGITS);

export function canonicalQuantity({ nano, format }: Quantity): string {
  if (nano === 0n) return '0';
  // Small or broken binary values are clearer in decimal, and lose nothing.
  const binary = format === 'BinarySI' && nano % ONE === 0n && (nano >= 1024n * ONE || nano <= -1024n * ONE);
  return binary ? canonicalBinary(nano / ONE) : canonicalDecimal(nano, format === 'DecimalExponent');
}

function canonicalBinary(value: bigint): string {
  let mantissa = value;
  let power = 0;
  while (mantissa % 1024n === 0n && power < BINARY.length - 1) {
    mantissa /= 1024n;
    power++;
  }
  return `${mantissa}${BINARY[power]}`;
}

function canonicalDecimal(nano: bigint, exponentForm: boolean): string {
  let mantissa = nano;
  let exponent = -NANO_DIGITS;
  while (mantissa % 1000n === 0n && exponent < 18) {
    mantissa /= 1000n;
    exponent += 3;
  }
  if (!exponentForm) return `${mantissa}${DECIMAL_SUFFIX.get(exponent)}`;
  return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`;
}
