import { type FieldError, fieldError } from '@tidegate/serving';
import { each, named, oneOf } from '../validation/checks.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { familyOf, INVALID_CIDR, isCIDR } from '../validation/ip.ts';
import { isLabelKey, isLabelValue } from '../validation/names.ts';
import type { Node, Taint } from './types.ts';

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

export function validateNode({ spec }: Node): FieldError[] {
  const { podCIDRs = [] } = spec;
  return [
    ...validateTaints(spec.taints),
    ...each('spec.podCIDRs', podCIDRs, (cidr, at) =>
      isCIDR(cidr) ? [] : [fieldError.invalid(at, cidr, INVALID_CIDR)],
    ),
    ...(podCIDRs.length > 1 && new Set(podCIDRs.map(familyOf)).size < podCIDRs.length
      ? [
          fieldError.invalid(
            'spec.podCIDRs',
            podCIDRs,
            'may specify no more than one CIDR for each IP family',
          ),
        ]
      : []),
  ];
}

/** Taints are in spec, but kube-apiserver reports them with this path. */
function validateTaints(taints: Taint[] | undefined): FieldError[] {
  const seen = new Set<string>();
  return each('metadata.taints', taints, (taint, at) => {
    const { key = '', value = '', effect } = taint;
    const messages = isLabelValue(value);
    const errors = [
      ...named(`${at}.key`, key, isLabelKey(key)),
      ...(messages.length > 0 ? [fieldError.invalid(`${at}.value`, value, messages.join(';'))] : []),
      ...oneOf(`${at}.effect`, effect, EFFECTS),
    ];
    const pair = `${key}:${effect}`;
    if (seen.has(pair)) {
      const shown = { Key: key, Value: value, Effect: effect, TimeAdded: taint.timeAdded ?? null };
      const duplicate = fieldError.duplicate(at, shown);
      const body = `${duplicate.body}: taints must be unique by key and effect pair`;
      errors.push({ ...duplicate, body });
    }
    seen.add(pair);
    return errors;
  });
}

export function validateNodeUpdate({ spec }: Node, { spec: old }: Node): FieldError[] {
  const errors: FieldError[] = [];
  const fixed = (field: string, name: string): void =>
    void errors.push(
      fieldError.forbidden(`spec.${field}`, `node updates may not change ${name} except from "" to valid`),
    );
  if ((old.podCIDRs ?? []).length > 0 && !semanticallyEqual(old.podCIDRs, spec.podCIDRs)) {
    fixed('podCIDRs', 'podCIDR');
  }
  if (old.providerID && old.providerID !== spec.providerID) fixed('providerID', 'providerID');
  return errors;
}
