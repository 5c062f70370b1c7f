/**
 * Resource quantities: `500m`, `1.5Gi`, `2e3`. They are exact: a value is a whole number of billionths in a BigInt.
 * API servers write them in one canonical form, with the largest suffix that needs no fraction.
 */
type Format = 'decimal' | 'binary' | 'exponent';

/** An exact amount. `format` is the notation in which it was written, so that it can be printed the same way. */
export interface Quantity {
  readonly nanos: bigint;
  readonly format: Format;
}

const NANO = 1_000_000_000n;
const MILLI_IN_NANOS = 1_000_000n;
const MAX = (2n ** 63n - 1n) * NANO;
const DECIMAL: Record<string, number> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const DECIMAL_SUFFIX = new Map(Object.entries(DECIMAL).map(([suffix, power]) => [power, suffix]));
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const SYNTAX = /^([+-]?)(\d*)(?:\.(\d*))?([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?$/;

/**
 * Undefined when the text is not a quantity. Fractions of a billionth are rounded up, and values beyond 2^63 are
 * limited, as in Kubernetes.
 */
export function parseQuantity(text: string): Quantity | undefined {
  const match = SYNTAX.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', suffix = ''] = match;
  if (whole === '' && fraction === '') return undefined;
  const { format, base, power } = scaleOf(suffix);
  const digits = BigInt(`${whole}${fraction}`) * NANO;
  const up = base ** BigInt(Math.max(power, 0));
  const down = base ** BigInt(Math.max(-power, 0)) * 10n ** BigInt(fraction.length);
  const magnitude = min(divideUp(digits * up, down), MAX);
  return { nanos: sign === '-' ? -magnitude : magnitude, format };
}

function scaleOf(suffix: string): { format: Format; base: bigint; power: number } {
  if (Object.hasOwn(DECIMAL, suffix)) return { format: 'decimal', base: 10n, power: DECIMAL[suffix] ?? 0 };
  if (suffix.endsWith('i')) return { format: 'binary', base: 1024n, power: BINARY.indexOf(suffix) };
  return { format: 'exponent', base: 10n, power: Number(suffix.slice(1)) };
}

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const divideUp = (a: bigint, b: bigint): bigint => (a + b - 1n) / b;

/** Compares by value, for `Array.sort`: `1Gi` is more than `1G`. */
export function compareQuantities(a: Quantity, b: Quantity): number {
  return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0;
}

/** Kubernetes counts resources in thousandths at the finest, and rounds up. */
export function roundUpToMilli(quantity: Quantity): Quantity {
  const { nanos, format } = quantity;
  const magnitude = divideUp(nanos < 0n ? -nanos : nanos, MILLI_IN_NANOS) * MILLI_IN_NANOS;
  return { nanos: nanos < 0n ? -magnitude : magnitude, format };
}

/** The canonical text, which API servers write: `1024Mi` becomes `1Gi`, `0.5` becomes `500m`. */
export function formatQuantity({ nanos, format }: Quantity): string {
  if (nanos === 0n) return '0';
  const sign = nanos < 0n ? '-' : '';
  const magnitude = nanos < 0n ? -nanos : nanos;
  // No binary suffix fits small and fractional numbers, so they are written in decimal form.
  const text =
    format === 'binary' && magnitude >= 1024n * NANO && magnitude % NANO === 0n
      ? formatBinary(magnitude / NANO)
      : formatDecimal(magnitude, format === 'exponent');
  return `${sign}${text}`;
}

function formatBinary(whole: bigint): string {
  let value = whole;
  let step = 0;
  while (value % 1024n === 0n && step < BINARY.length - 1) {
    value /= 1024n;
    step++;
  }
  return `${value}${BINARY[step]}`;
}

function formatDecimal(nanos: bigint, exponent: boolean): string {
  let value = nanos;
  let power = -9;
  while (value % 1000n === 0n && power < 18) {
    value /= 1000n;
    power += 3;
  }
  if (!exponent || power === 0) return `${value}${DECIMAL_SUFFIX.get(power) ?? ''}`;
  return `${value}e${power}`;
}

/** The canonical form. Text that is not a quantity is returned unchanged. */
export function canonicalQuantity(text: string): string {
  const quantity = parseQuantity(text);
  return quantity === undefined ? text : formatQuantity(quantity);
}
