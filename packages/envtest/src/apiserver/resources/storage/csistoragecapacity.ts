import { formatQuantity, parseQuantity } from '@tidegate/kube';
import { fieldError } from '@tidegate/serving';
import { define } from '../define.ts';
import { named } from '../validation/checks.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { IMMUTABLE, isDNS1123Subdomain, NON_NEGATIVE } from '../validation/names.ts';
import { validateLabelSelector } from '../validation/selectors.ts';
import type { CsiStorageCapacity } from './types.ts';

export const csistoragecapacities = define<CsiStorageCapacity>({
  group: 'storage.k8s.io',
  kind: 'CSIStorageCapacity',
  plural: 'csistoragecapacities',
  validate({ nodeTopology, storageClassName = '', capacity }) {
    const quantity = capacity === undefined ? undefined : parseQuantity(String(capacity));
    return [
      ...validateLabelSelector(nodeTopology, 'nodeTopology'),
      ...named('storageClassName', storageClassName, isDNS1123Subdomain(storageClassName)),
      ...(quantity !== undefined && quantity.nanos < 0n
        ? [fieldError.invalid('capacity', formatQuantity(quantity), NON_NEGATIVE)]
        : []),
    ];
  },
  validateUpdate: (object, old) =>
    (['nodeTopology', 'storageClassName'] as const).flatMap((field) =>
      semanticallyEqual(object[field], old[field])
        ? []
        : [fieldError.invalid(field, object[field] ?? null, IMMUTABLE)],
    ),
});
