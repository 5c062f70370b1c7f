/** The strategy of the kind CustomResourceDefinition itself. */
import type { KubeObject } from '@tidegate/kube';
import type { Strategy } from '../resources/types.ts';
import { unknownFormats } from './schema-checks.ts';
import type { CrdStatus, CustomResourceDefinition } from './types.ts';
import { validateCrd, validateCrdUpdate } from './validation.ts';

const asCrd = (object: KubeObject): CustomResourceDefinition => object as CustomResourceDefinition;

/**
 * The status is written by the registrar and kept in every update. Only the list of stored versions is extended here,
 * in the same write that changes the storage version.
 */
export const crdStrategy: Strategy = {
  prepareForCreate(object) {
    const crd = asCrd(object);
    crd.status = withStorageVersion(crd, {
      // Not null, which kube-apiserver stores: `kubectl wait` fails if it reads null before the first condition is set.
      conditions: [],
      acceptedNames: { plural: '', kind: '' },
      storedVersions: [],
    });
  },
  prepareForUpdate(object, old) {
    const crd = asCrd(object);
    const status = asCrd(old).status;
    if (status !== undefined) crd.status = withStorageVersion(crd, status);
  },
  validate: (object, old) => validateCrd(asCrd(object), old === undefined ? undefined : asCrd(old)),
  validateUpdate: (object, old) => validateCrdUpdate(asCrd(object), asCrd(old)),
  warnings(object, old) {
    const before = new Set(old === undefined ? [] : unknownFormats(asCrd(old)));
    return unknownFormats(asCrd(object))
      .filter((format) => !before.has(format))
      .map((format) => `unrecognized format ${JSON.stringify(format)}`);
  },
};

/** Records every version in which objects may be stored. */
function withStorageVersion(crd: CustomResourceDefinition, status: CrdStatus): CrdStatus {
  const storage = crd.spec.versions?.find((v) => v.storage === true)?.name;
  const stored = status.storedVersions ?? [];
  if (storage === undefined || stored.includes(storage)) return status;
  return { ...status, storedVersions: [...stored, storage] };
}
