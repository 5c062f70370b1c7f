import { ownField, parseQuantity } from '@tidegate/kube';
import type { Container } from '../contracts.ts';

/** The resources of the node: the limit of a container that sets none. */
export type Allocatable = Readonly<Record<string, string>>;

/** The value of a `resourceFieldRef`, in units of its divisor and rounded up; undefined for an unknown field. */
export function resourceValue(
  { resources = {} }: Container,
  path: string,
  divisor: string | undefined,
  allocatable: Allocatable,
): string | undefined {
  const dot = path.indexOf('.');
  const name = path.slice(dot + 1);
  const amount = amountOf(path.slice(0, dot), name, resources, allocatable);
  if (amount === undefined) return undefined;
  const value = parseQuantity(amount)?.nanos;
  // The API server stores "0" when no divisor is given.
  const unit = parseQuantity(divisor === undefined || divisor === '0' ? '1' : divisor)?.nanos;
  if (value === undefined || unit === undefined || unit <= 0n) return undefined;
  return String((value + unit - 1n) / unit);
}

function amountOf(
  which: string,
  name: string,
  { limits = {}, requests = {} }: NonNullable<Container['resources']>,
  allocatable: Allocatable,
): string | undefined {
  if (which === 'limits') return ownField(limits, name) ?? ownField(allocatable, name) ?? '0';
  if (which === 'requests') return ownField(requests, name) ?? '0';
  return undefined;
}
