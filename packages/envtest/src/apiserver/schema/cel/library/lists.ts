/** List functions: sorting, sums and search, with CEL's rules of comparison. */

import type { Environment } from '@marcbachmann/cel-js';
import { jsonEqual } from '@tidegate/kube';

type Comparable = bigint | number | string | boolean | Date;

export function registerLists(environment: Environment): void {
  environment
    .registerFunction('list.isSorted(): bool', (list: Comparable[]) =>
      list.every((item, i) => i === 0 || (list[i - 1] as Comparable) <= item),
    )
    .registerFunction('list.sum(): dyn', (list: (bigint | number)[]) => sum(list))
    .registerFunction('list.min(): dyn', (list: Comparable[]) => extreme(list, 'min', (a, b) => a < b))
    .registerFunction('list.max(): dyn', (list: Comparable[]) => extreme(list, 'max', (a, b) => a > b))
    .registerFunction('list.indexOf(dyn): int', (list: unknown[], wanted: unknown) =>
      BigInt(list.findIndex((item) => jsonEqual(item, wanted))),
    )
    .registerFunction('list.lastIndexOf(dyn): int', (list: unknown[], wanted: unknown) =>
      BigInt(list.findLastIndex((item) => jsonEqual(item, wanted))),
    )
    .registerFunction('list.slice(int, int): list<dyn>', (list: unknown[], from: bigint, to: bigint) =>
      list.slice(Number(from), Number(to)),
    )
    .registerFunction('list.flatten(): list<dyn>', (list: unknown[]) => list.flat())
    .registerFunction('list.reverse(): list<dyn>', (list: unknown[]) => [...list].reverse())
    .registerFunction('list.distinct(): list<dyn>', (list: unknown[]) =>
      list.filter((item, i) => list.findIndex((other) => jsonEqual(other, item)) === i),
    )
    .registerFunction('list.sort(): list<dyn>', (list: Comparable[]) =>
      [...list].sort((a, b) => (a < b ? -1 : 1)),
    );
  registerSets(environment);
}

function sum(list: (bigint | number)[]): bigint | number {
  if (list.length === 0) return 0n;
  if (list.every((item) => typeof item === 'bigint')) return list.reduce((a, b) => a + b, 0n);
  return list.reduce<number>((a, b) => a + Number(b), 0);
}

function extreme(
  list: Comparable[],
  name: string,
  better: (a: Comparable, b: Comparable) => boolean,
): Comparable {
  const [first, ...rest] = list;
  if (first === undefined) throw new Error(`${name} called on empty list`);
  return rest.reduce((best, item) => (better(item, best) ? item : best), first);
}

class SetsNamespace {}

function registerSets(environment: Environment): void {
  const has = (list: unknown[], wanted: unknown): boolean => list.some((item) => jsonEqual(item, wanted));
  const contains = (_: unknown, a: unknown[], b: unknown[]): boolean => b.every((item) => has(a, item));
  environment
    .registerType('kubernetes.Sets', SetsNamespace)
    .registerConstant('sets', 'kubernetes.Sets', new SetsNamespace())
    .registerFunction('kubernetes.Sets.contains(list, list): bool', contains)
    .registerFunction(
      'kubernetes.Sets.equivalent(list, list): bool',
      (_: unknown, a: unknown[], b: unknown[]) => contains(_, a, b) && contains(_, b, a),
    )
    .registerFunction(
      'kubernetes.Sets.intersects(list, list): bool',
      (_: unknown, a: unknown[], b: unknown[]) => a.some((item) => has(b, item)),
    );
}
