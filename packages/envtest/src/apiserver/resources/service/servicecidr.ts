import { type FieldError, fieldError } from '@tidegate/serving';
import { define, statusOf } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { canonicalCIDR, familyOf, hasHostBits, INVALID_CIDR, isCIDR } from '../validation/ip.ts';
import { IMMUTABLE } from '../validation/names.ts';
import type { ServiceCIDR } from './types.ts';

const PATH = 'spec.cidrs';

export const servicecidrs = define<ServiceCIDR>({
  group: 'networking.k8s.io',
  kind: 'ServiceCIDR',
  plural: 'servicecidrs',
  namespaced: false,
  parts: ['spec', 'status'],
  subresources: statusOf('networking.k8s.io', 'v1', 'ServiceCIDR'),
  table: [
    nameColumn,
    { name: 'CIDRs', field: 'spec.cidrs', cell: ({ spec }) => (spec.cidrs ?? []).join(',') },
    ageColumn,
  ],
  prepareForCreate(object) {
    object.status = {};
  },
  validate: ({ spec }, old) => (old === undefined ? validateRanges(spec.cidrs ?? []) : []),
  validateUpdate: ({ spec }, old) => validateChange(spec.cidrs ?? [], old.spec.cidrs ?? []),
});

function validateRanges(cidrs: string[]): FieldError[] {
  if (cidrs.length === 0) return [fieldError.required(PATH, 'at least one CIDR required')];
  if (cidrs.length > 2) return [fieldError.invalid(PATH, { CIDRs: cidrs }, 'may only hold up to 2 values')];
  const errors = cidrs.flatMap((cidr, i) => {
    const at = `${PATH}[${i}]`;
    if (!isCIDR(cidr)) return [fieldError.invalid(at, cidr, INVALID_CIDR)];
    if (hasHostBits(cidr)) {
      return [fieldError.invalid(at, cidr, 'must not have bits set beyond the prefix length')];
    }
    const canonical = canonicalCIDR(cidr);
    return canonical === cidr
      ? []
      : [fieldError.invalid(at, cidr, `must be in canonical form (${JSON.stringify(canonical)})`)];
  });
  const [first = '', second] = cidrs;
  if (second !== undefined && isCIDR(first) && isCIDR(second) && familyOf(first) === familyOf(second)) {
    const detail = 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64';
    errors.push(fieldError.invalid(PATH, cidrs, detail));
  }
  return errors;
}

/** Ranges are immutable, but a second family can be added. */
function validateChange(cidrs: string[], old: string[]): FieldError[] {
  const isExtended = old.length === 1 && cidrs.length === 2;
  if (cidrs.length !== old.length && !isExtended) return [fieldError.invalid(PATH, cidrs, IMMUTABLE)];
  return [
    ...old.flatMap((cidr, i) =>
      cidr === cidrs[i] ? [] : [fieldError.invalid(`${PATH}[${i}]`, cidrs[i], IMMUTABLE)],
    ),
    ...(isExtended ? validateRanges(cidrs) : []),
  ];
}
