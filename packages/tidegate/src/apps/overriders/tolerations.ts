import { isDeepStrictEqual } from 'node:util';
import { isJsonMap, type JsonMap, ownField } from '@tidegate/kube';
import type { TolerationsOverrider } from '../../api/index.ts';
import { listAt, write } from '../json.ts';
import { listed, type Overrider, overrideError } from './overrider.ts';

/**
 * Adds or removes tolerations of the pods. To remove a toleration, a rule may give only some of its fields: all
 * tolerations with these fields are removed.
 */
export const overrideTolerations: Overrider<TolerationsOverrider> = (object, rule, workload, charge) => {
  const path = [...workload.pod, 'spec', 'tolerations'];
  const present = listAt(object, path).filter(isJsonMap);
  const wanted = rule.value ?? [];
  // Each is compared with each.
  charge(present.length * wanted.length);
  if (present.length * wanted.length > MAX_COMPARISONS)
    return overrideError(
      path,
      `too many tolerations: ${present.length} exist, and the rule has ${wanted.length}`,
    );
  if (rule.operator === 'add') {
    const added = wanted.filter((one) => !present.some((old) => isDeepStrictEqual(old, one)));
    return write(object, path, [...present, ...added]);
  }
  const missing = wanted.filter((one) => !present.some((old) => matches(old, one)));
  if (missing.length === wanted.length && missing.length > 0) return undefined;
  if (missing.length > 0)
    return overrideError(
      path,
      `cannot remove ${listed(missing.map((one) => JSON.stringify(one)))}: not found`,
    );
  return write(
    object,
    path,
    present.filter((old) => !wanted.some((one) => matches(old, one))),
  );
};

/** Of one rule, because other work waits for it. */
const MAX_COMPARISONS = 100_000;

const matches = (toleration: JsonMap, description: JsonMap): boolean =>
  Object.entries(description).every(([field, value]) =>
    isDeepStrictEqual(ownField(toleration, field), value),
  );
