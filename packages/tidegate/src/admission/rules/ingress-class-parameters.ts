import { isDeepStrictEqual } from 'node:util';
import { INGRESS_CLASS_PARAMETERS, MOST_CLASS_PARAMETER_BYTES } from '../../api/index.ts';
import type { AdmissionResult } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';

/** Limits the total size of the parameters. The schema limits their number, but cannot limit their total size. */
export const ingressClassParametersRule = (): AdmissionRule => ({
  group: INGRESS_CLASS_PARAMETERS.group,
  versions: [INGRESS_CLASS_PARAMETERS.version],
  resource: INGRESS_CLASS_PARAMETERS.resource,
  scope: 'Namespaced',
  operations: ['CREATE', 'UPDATE'],
  failurePolicy: 'Ignore',
  evaluate({ object, oldObject }): AdmissionResult {
    if (isDeepStrictEqual(object?.parameters, oldObject?.parameters)) return {};
    const bytes = Object.entries(object?.parameters ?? {}).reduce(
      (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
      0,
    );
    if (bytes <= MOST_CLASS_PARAMETER_BYTES) return {};
    const message = `keys and values have ${bytes} bytes in total, the limit is ${MOST_CLASS_PARAMETER_BYTES} (256 KiB): remove or shorten some of them`;
    return { problems: [{ path: 'parameters', message }] };
  },
});
