/** Sets the default class of a claim that names none. The newest default class wins. */
import { DEFAULT_STORAGE_CLASS } from '../resources/storage/storageclass.ts';
import type { PersistentVolumeClaim } from '../resources/storage/types.ts';
import type { Store } from '../store/types.ts';
import { newestMarked } from './newest-default.ts';
import type { Plugin } from './plugin.ts';

export function defaultStorageClass(store: Store): Plugin {
  return ({ operation, subresource, object, served }) => {
    if (operation !== 'CREATE' || subresource !== '' || object === undefined) return;
    if (served.definition.storage !== 'persistentvolumeclaims') return;
    const { spec } = object as PersistentVolumeClaim;
    if (spec.storageClassName !== undefined) return;
    const name = newestMarked(store, 'storage.k8s.io/storageclasses', DEFAULT_STORAGE_CLASS);
    if (name !== undefined) spec.storageClassName = name;
  };
}
