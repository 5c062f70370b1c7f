/** `quantity("1.5Gi").isGreaterThan(quantity("1G"))`. */
import type { Environment } from '@marcbachmann/cel-js';
import { canonicalQuantity, parseQuantity, type Quantity } from '../../quantity.ts';

const TYPE = 'kubernetes.Quantity';
const NANO = 10n ** 9n;

class QuantityValue {
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    this.quantity = quantity;
  }

  get nano(): bigint {
    return this.quantity.nano;
  }

  toString(): string {
    return canonicalQuantity(this.quantity);
  }
}

type Q = QuantityValue;

const parse = (text: string): Q => new QuantityValue(parseQuantity(text));
const isQuantity = (text: string): boolean => {
  try {
    parseQuantity(text);
    return true;
  } catch {
    return false;
  }
};
const plus = (a: Q, nano: bigint): Q => new QuantityValue({ ...a.quantity, nano: a.nano + nano });
const compare = (a: Q, b: Q): bigint => (a.nano < b.nano ? -1n : a.nano > b.nano ? 1n : 0n);

export function registerQuantities(environment: Environment): void {
  environment
    .registerType(TYPE, QuantityValue)
    .registerFunction(`quantity(string): ${TYPE}`, parse)
    .registerFunction('isQuantity(string): bool', isQuantity)
    .registerFunction(`${TYPE}.isGreaterThan(${TYPE}): bool`, (a: Q, b: Q) => a.nano > b.nano)
    .registerFunction(`${TYPE}.isLessThan(${TYPE}): bool`, (a: Q, b: Q) => a.nano < b.nano)
    .registerFunction(`${TYPE}.compareTo(${TYPE}): int`, compare)
    .registerFunction(`${TYPE}.add(${TYPE}): ${TYPE}`, (a: Q, b: Q) => plus(a, b.nano))
    .registerFunction(`${TYPE}.add(int): ${TYPE}`, (a: Q, b: bigint) => plus(a, b * NANO))
    .registerFunction(`${TYPE}.sub(${TYPE}): ${TYPE}`, (a: Q, b: Q) => plus(a, -b.nano))
    .registerFunction(`${TYPE}.sub(int): ${TYPE}`, (a: Q, b: bigint) => plus(a, -b * NANO))
    .registerFunction(`${TYPE}.sign(): int`, (a: Q) => compare(a, parse('0')))
    .registerFunction(`${TYPE}.isInteger(): bool`, (a: Q) => a.nano % NANO === 0n)
    .registerFunction(`${TYPE}.asInteger(): int`, (a: Q) => {
      if (a.nano % NANO !== 0n) throw new Error('cannot convert value to integer');
      return a.nano / NANO;
    })
    .registerFunction(`${TYPE}.asApproximateFloat(): double`, (a: Q) => Number(a.nano) / Number(NANO))
    .registerFunction(`string(${TYPE}): string`, (a: Q) => a.toString())
    .registerOperator(`${TYPE} == ${TYPE}`, (a: Q, b: Q) => a.nano === b.nano);
}
