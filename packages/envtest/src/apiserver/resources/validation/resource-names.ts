/** Names and amounts of resources, such as `cpu`, `requests.memory` and `example.com/gpu`. */
import { ownField, parseQuantity, type Quantity } from '@tidegate/kube';
import { type FieldError, fieldError } from '@tidegate/serving';
import { isDNS1123Subdomain, isLabelKey } from './names.ts';

export type ResourceList = Record<string, string>;

const STANDARD_CONTAINER = new Set(['cpu', 'memory', 'ephemeral-storage']);
const STANDARD = new Set([
  ...STANDARD_CONTAINER,
  ...['requests.cpu', 'requests.memory', 'requests.ephemeral-storage'],
  ...['limits.cpu', 'limits.memory', 'limits.ephemeral-storage'],
  ...['pods', 'resourcequotas', 'services', 'replicationcontrollers', 'secrets', 'configmaps'],
  ...['persistentvolumeclaims', 'storage', 'requests.storage'],
  ...['services.nodeports', 'services.loadbalancers'],
]);

export const isHugePages = (name: string): boolean => name.startsWith('hugepages-');
const isNative = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');
/** Whether limits may exceed requests. Huge pages and extended resources cannot be overcommitted. */
export const isOvercommitAllowed = (name: string): boolean => isNative(name) && !isHugePages(name);

export function isExtended(name: string): boolean {
  if (isNative(name) || name.startsWith('requests.')) return false;
  return (
    isLabelKey(`requests.${name}`).length === 0 && isDNS1123Subdomain(name.split('/')[0] ?? '').length === 0
  );
}

export function validateResourceName(name: string, path: string): FieldError[] {
  const errors = isLabelKey(name).map((message) => fieldError.invalid(path, name, message));
  if (errors.length > 0 || name.includes('/') || STANDARD.has(name) || isHugePages(name)) return errors;
  return [fieldError.invalid(path, name, 'must be a standard resource type or fully qualified')];
}

/** A resource that containers can request. */
export function validateContainerResourceName(name: string, path: string): FieldError[] {
  const errors = validateResourceName(name, path);
  const wrong = (message: string): FieldError => fieldError.invalid(path, name, message);
  if (!name.includes('/')) {
    if (!STANDARD_CONTAINER.has(name) && !isHugePages(name)) {
      errors.push(wrong('must be a standard resource for containers'));
    }
  } else if (!isNative(name) && !isExtended(name)) {
    errors.push(wrong("doesn't follow extended resource name standard"));
  }
  return errors;
}

export const ZERO: Quantity = { nanos: 0n, format: 'decimal' };

/** The amount in a list; zero if the list does not have it. */
export const quantityOf = (list: ResourceList | undefined, name: string): Quantity =>
  parseQuantity(String(ownField(list, name) ?? '0')) ?? ZERO;

export const isWhole = ({ nanos }: Quantity): boolean => nanos % 1_000_000_000n === 0n;
