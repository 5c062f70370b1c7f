import { isDeepStrictEqual } from 'node:util';
import { INGRESS_CLASS_PARAMETERS, MOST_CLASS_PARAMETER_BYTES } from '../../api/index.ts';
import type { Verdict } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';

/** How many there may be, and that each has a name, the schema says; how long they are together it can not. */
export const ingressClassParametersRule = (): AdmissionRule => ({
  group: INGRESS_CLASS_PARAMETERS.group,
  versions: [INGRESS_CLASS_PARAMETERS.version],
  resource: INGRESS_CLASS_PARAMETERS.resource,
  scope: 'Namespaced',
  operations: ['CREATE', 'UPDATE'],
  failurePolicy: 'Ignore',
  judge({ object, oldObject }): Verdict {
    if (isDeepStrictEqual(object?.parameters, oldObject?.parameters)) return {};
    const bytes = Object.entries(object?.parameters ?? {}).reduce(
      (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
      0,
    );
    if (bytes <= MOST_CLASS_PARAMETER_BYTES) return {};
    const message = `all names and values together have ${bytes} bytes, and may have ${MOST_CLASS_PARAMETER_BYTES} (256 KiB): leave some out, or make them shorter`;
    return { problems: [{ path: 'parameters', message }] };
  },
});
