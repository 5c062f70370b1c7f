/** Validation of `clusterIP`, `clusterIPs`, `ipFamilies` and `ipFamilyPolicy`, which must be consistent. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { familyOf, INVALID_IP, isAddress } from '../validation/ip.ts';
import { HEADLESS, type ServiceSpec } from './types.ts';

const FAMILIES = ['IPv4', 'IPv6'];
const POLICIES = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];

export function validateClusterIPs(spec: ServiceSpec): FieldError[] {
  const { clusterIP = '', clusterIPs = [] } = spec;
  if (spec.type === 'ExternalName') return [];
  const errors: FieldError[] = [];
  const wrong = (detail: string): void => {
    errors.push(fieldError.invalid('spec.clusterIPs', clusterIPs, detail));
  };
  if (clusterIP !== '' && clusterIPs.length === 0) errors.push(fieldError.required('spec.clusterIPs'));
  else if (clusterIP !== '' && clusterIPs[0] !== clusterIP) wrong('first value must match `clusterIP`');
  else if (clusterIP === '' && clusterIPs.length > 0)
    wrong('must be empty when `clusterIP` is not specified');
  errors.push(...validateFamilies(spec));
  const bad = validateAddresses(clusterIPs);
  errors.push(...bad);
  if (clusterIPs.length > 2) wrong('may only hold up to 2 values');
  if (bad.length > 0) return errors;
  if (clusterIPs.length > 1 && new Set(clusterIPs.map(familyOf)).size < clusterIPs.length) {
    wrong('may specify no more than one IP for each IP family');
  }
  return [...errors, ...validateFamilyMatch(spec)];
}

function validateFamilies({ ipFamilies = [], ipFamilyPolicy }: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, family] of ipFamilies.entries()) {
    const path = `spec.ipFamilies[${i}]`;
    if (!FAMILIES.includes(family)) errors.push(fieldError.notSupported(path, family, FAMILIES));
    if (ipFamilies.indexOf(family) < i) errors.push(fieldError.duplicate(path, family));
  }
  if (ipFamilyPolicy !== undefined && !POLICIES.includes(ipFamilyPolicy)) {
    errors.push(fieldError.notSupported('spec.ipFamilyPolicy', ipFamilyPolicy, POLICIES));
  }
  return errors;
}

function validateAddresses(clusterIPs: string[]): FieldError[] {
  return clusterIPs.flatMap((ip, i) => {
    if (i === 0 && ip === HEADLESS) {
      const alone = clusterIPs.length === 1;
      return alone
        ? []
        : [fieldError.invalid('spec.clusterIPs', clusterIPs, "'None' must be the first and only value")];
    }
    return isAddress(ip) ? [] : [fieldError.invalid(`spec.clusterIPs[${i}]`, ip, INVALID_IP)];
  });
}

function validateFamilyMatch({ clusterIPs = [], ipFamilies = [] }: ServiceSpec): FieldError[] {
  if (clusterIPs[0] === HEADLESS) return [];
  return clusterIPs.flatMap((ip, i) => {
    const family = ipFamilies[i];
    if (family === undefined || !FAMILIES.includes(family) || family === familyOf(ip)) return [];
    const detail = `expected an ${family} value as indicated by \`ipFamilies[${i}]\``;
    return [fieldError.invalid(`spec.clusterIPs[${i}]`, ip, detail)];
  });
}
