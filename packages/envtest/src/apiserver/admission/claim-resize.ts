/** PersistentVolumeClaimResize: a claim can grow only if its storage class allows it. */
import { compareQuantities } from '@tidegate/kube';
import { refusal } from '../operations/refusal.ts';
import type { PersistentVolumeClaim, StorageClass } from '../resources/storage/types.ts';
import { quantityOf } from '../resources/validation/resource-names.ts';
import { decodeStored } from '../served/codec.ts';
import type { Store } from '../store/types.ts';
import type { Plugin } from './plugin.ts';

export function claimResize(store: Store): Plugin {
  return (attributes) => {
    const { operation, subresource, object, oldObject, served } = attributes;
    if (operation !== 'UPDATE' || subresource !== '' || object === undefined) return;
    if (served.definition.storage !== 'persistentvolumeclaims') return;
    const claim = object as PersistentVolumeClaim;
    const old = oldObject as PersistentVolumeClaim;
    const sizeOf = ({ spec }: PersistentVolumeClaim) => quantityOf(spec.resources?.requests, 'storage');
    if (compareQuantities(sizeOf(claim), sizeOf(old)) <= 0) return;
    if (old.status.phase !== 'Bound') {
      throw refusal(attributes, 'Only bound persistent volume claims can be expanded');
    }
    const name = claim.spec.storageClassName ?? '';
    const entry = store.get({ resource: 'storage.k8s.io/storageclasses', namespace: '', name });
    if (entry !== undefined && (decodeStored(entry) as StorageClass).allowVolumeExpansion === true) return;
    throw refusal(
      attributes,
      'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
    );
  };
}
