/** `quantity("1.5Gi").isGreaterThan(quantity("1G"))`. */
import type { Environment } from '@marcbachmann/cel-js';
import { formatQuantity, parseQuantity, type Quantity } from '@tidegate/kube';

const TYPE = 'kubernetes.Quantity';
const NANO = 10n ** 9n;

class QuantityValue {
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    this.quantity = quantity;
  }

  get nanos(): bigint {
    return this.quantity.nanos;
  }

  toString(): string {
    return formatQuantity(this.quantity);
  }
}

type Q = QuantityValue;

const parse = (text: string): Q => {
  const quantity = parseQuantity(text);
  if (quantity === undefined) throw new Error('quantity parse error during conversion from string');
  return new QuantityValue(quantity);
};
const isQuantity = (text: string): boolean => parseQuantity(text) !== undefined;
const plus = (a: Q, nanos: bigint): Q => new QuantityValue({ ...a.quantity, nanos: a.nanos + nanos });
const compare = (a: Q, b: Q): bigint => (a.nanos < b.nanos ? -1n : a.nanos > b.nanos ? 1n : 0n);

export function registerQuantities(environment: Environment): void {
  environment
    .registerType(TYPE, QuantityValue)
    .registerFunction(`quantity(string): ${TYPE}`, parse)
    .registerFunction('isQuantity(string): bool', isQuantity)
    .registerFunction(`${TYPE}.isGreaterThan(${TYPE}): bool`, (a: Q, b: Q) => a.nanos > b.nanos)
    .registerFunction(`${TYPE}.isLessThan(${TYPE}): bool`, (a: Q, b: Q) => a.nanos < b.nanos)
    .registerFunction(`${TYPE}.compareTo(${TYPE}): int`, compare)
    .registerFunction(`${TYPE}.add(${TYPE}): ${TYPE}`, (a: Q, b: Q) => plus(a, b.nanos))
    .registerFunction(`${TYPE}.add(int): ${TYPE}`, (a: Q, b: bigint) => plus(a, b * NANO))
    .registerFunction(`${TYPE}.sub(${TYPE}): ${TYPE}`, (a: Q, b: Q) => plus(a, -b.nanos))
    .registerFunction(`${TYPE}.sub(int): ${TYPE}`, (a: Q, b: bigint) => plus(a, -b * NANO))
    .registerFunction(`${TYPE}.sign(): int`, (a: Q) => compare(a, parse('0')))
    .registerFunction(`${TYPE}.isInteger(): bool`, (a: Q) => a.nanos % NANO === 0n)
    .registerFunction(`${TYPE}.asInteger(): int`, (a: Q) => {
      if (a.nanos % NANO !== 0n) throw new Error('cannot convert value to integer');
      return a.nanos / NANO;
    })
    .registerFunction(`${TYPE}.asApproximateFloat(): double`, (a: Q) => Number(a.nanos) / Number(NANO))
    .registerFunction(`string(${TYPE}): string`, (a: Q) => a.toString())
    .registerOperator(`${TYPE} == ${TYPE}`, (a: Q, b: Q) => a.nanos === b.nanos);
}
