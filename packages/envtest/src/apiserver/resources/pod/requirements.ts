/** Validation of requests and limits. */
import { compareQuantities, parseQuantity, type Quantity } from '@tidegate/kube';
import { type FieldError, fieldError } from '@tidegate/serving';
import { isDNS1123Subdomain, isLabelKey, NON_NEGATIVE } from '../validation/names.ts';
import type { ResourceList, ResourceRequirements } from './types.ts';

const STANDARD_CONTAINER = new Set(['cpu', 'memory', 'ephemeral-storage']);
const STANDARD = new Set([
  ...STANDARD_CONTAINER,
  ...['requests.cpu', 'requests.memory', 'requests.ephemeral-storage'],
  ...['limits.cpu', 'limits.memory', 'limits.ephemeral-storage'],
  ...['pods', 'resourcequotas', 'services', 'replicationcontrollers', 'secrets', 'configmaps'],
  ...['persistentvolumeclaims', 'storage', 'requests.storage'],
  ...['services.nodeports', 'services.loadbalancers'],
]);

const isHugePages = (name: string): boolean => name.startsWith('hugepages-');
const isNative = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');
/** Whether limits may exceed requests. Huge pages and extended resources cannot be overcommitted. */
const isOvercommitAllowed = (name: string): boolean => isNative(name) && !isHugePages(name);

function isExtended(name: string): boolean {
  if (isNative(name) || name.startsWith('requests.')) return false;
  return (
    isLabelKey(`requests.${name}`).length === 0 && isDNS1123Subdomain(name.split('/')[0] ?? '').length === 0
  );
}

function validateName(name: string, path: string): FieldError[] {
  const messages = isLabelKey(name);
  const wrong = (message: string): FieldError => fieldError.invalid(path, name, message);
  const errors = messages.map(wrong);
  const plain = !name.includes('/');
  if (errors.length === 0 && plain && !STANDARD.has(name) && !isHugePages(name)) {
    errors.push(wrong('must be a standard resource type or fully qualified'));
  }
  if (plain) {
    if (!STANDARD_CONTAINER.has(name) && !isHugePages(name)) {
      errors.push(wrong('must be a standard resource for containers'));
    }
  } else if (!isNative(name) && !isExtended(name)) {
    errors.push(wrong("doesn't follow extended resource name standard"));
  }
  return errors;
}

const ZERO: Quantity = { nanos: 0n, format: 'decimal' };
const quantityOf = (list: ResourceList | undefined, name: string): Quantity =>
  parseQuantity(String(list?.[name] ?? '0')) ?? ZERO;

function validateList(list: ResourceList | undefined, path: string): FieldError[] {
  return Object.entries(list ?? {}).flatMap(([name, text]) => {
    const at = `${path}[${name}]`;
    const quantity = quantityOf(list, name);
    const whole = quantity.nanos % 1_000_000_000n === 0n;
    return [
      ...validateName(name, at),
      ...(quantity.nanos < 0n ? [fieldError.invalid(at, text, NON_NEGATIVE)] : []),
      ...(isExtended(name) && !whole ? [fieldError.invalid(at, text, 'must be an integer')] : []),
    ];
  });
}

export function validateRequirements(
  resources: ResourceRequirements | undefined,
  path: string,
): FieldError[] {
  const { limits, requests = {} } = resources ?? {};
  const errors = validateList(limits, `${path}.limits`);
  errors.push(...validateList(requests, `${path}.requests`));
  for (const [name, text] of Object.entries(requests)) {
    const limit = limits?.[name];
    const overcommit = isOvercommitAllowed(name);
    if (limit === undefined) {
      if (!overcommit) {
        errors.push(
          fieldError.required(`${path}.limits`, 'Limit must be set for non overcommitable resources'),
        );
      }
      continue;
    }
    const order = compareQuantities(quantityOf(requests, name), quantityOf(limits, name));
    const wrong = (relation: string): void =>
      void errors.push(
        fieldError.invalid(`${path}.requests`, text, `must be ${relation} ${name} limit of ${limit}`),
      );
    if (order !== 0 && !overcommit) wrong('equal to');
    else if (order > 0) wrong('less than or equal to');
  }
  const names = [...Object.keys(limits ?? {}), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.some((name) => name === 'cpu' || name === 'memory')) {
    errors.push(fieldError.forbidden(path, 'HugePages require cpu or memory'));
  }
  return errors;
}
