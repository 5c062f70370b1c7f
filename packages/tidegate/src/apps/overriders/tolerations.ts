import { isDeepStrictEqual } from 'node:util';
import { isJsonMap, type JsonMap } from '@tidegate/kube';
import type { TolerationsOverrider } from '../../api/index.ts';
import { listAt, write } from '../json.ts';
import { type Overrider, overrideError } from './overrider.ts';

/** Tolerations of the pods. To remove, what the rule says of a toleration is enough to name it. */
export const overrideTolerations: Overrider<TolerationsOverrider> = (object, rule, workload) => {
  const path = [...workload.pod, 'spec', 'tolerations'];
  const present = listAt(object, path).filter(isJsonMap);
  const wanted = rule.value ?? [];
  if (rule.operator === 'add') {
    const added = wanted.filter((one) => !present.some((old) => isDeepStrictEqual(old, one)));
    return write(object, path, [...present, ...added]);
  }
  const missing = wanted.filter((one) => !present.some((old) => isNamedBy(old, one)));
  if (missing.length === wanted.length && missing.length > 0) return undefined;
  if (missing.length > 0)
    return overrideError(
      path,
      `there is no ${missing.map((one) => JSON.stringify(one)).join(', ')} to remove`,
    );
  return write(
    object,
    path,
    present.filter((old) => !wanted.some((one) => isNamedBy(old, one))),
  );
};

const isNamedBy = (toleration: JsonMap, description: JsonMap): boolean =>
  Object.entries(description).every(([field, value]) => isDeepStrictEqual(toleration[field], value));
