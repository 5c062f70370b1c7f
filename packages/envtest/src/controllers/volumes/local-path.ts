/** The storage class `local-path` and the volumes that it provisions. */
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '@tidegate/kube';
import { LOCAL_PATH_CLASS, LOCAL_PATH_DRIVER } from '../../local-path.ts';

const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';
const HOSTNAME = 'kubernetes.io/hostname';
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';

export const localPathClass = (): StorageClass => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: {
    name: LOCAL_PATH_CLASS,
    annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
  },
  provisioner: LOCAL_PATH_DRIVER,
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'WaitForFirstConsumer',
  allowVolumeExpansion: true,
});

export const isLocalPath = (storageClass: StorageClass | undefined): boolean =>
  storageClass?.provisioner === LOCAL_PATH_DRIVER;

export const waitsForPod = (storageClass: StorageClass | undefined): boolean =>
  storageClass?.volumeBindingMode === 'WaitForFirstConsumer';

export const selectedNode = ({ metadata }: PersistentVolumeClaim): string | undefined =>
  metadata.annotations?.[SELECTED_NODE];

/** A volume for the claim. With a node, only pods on that node can use it, because that is where the directory is. */
export function provisionedVolume(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
): PersistentVolume {
  const { namespace, name, uid, resourceVersion } = claim.metadata;
  const { accessModes, resources, volumeMode } = claim.spec ?? {};
  const volume = `pvc-${uid}`;
  const node = selectedNode(claim);
  const term = { matchExpressions: [{ key: HOSTNAME, operator: 'In', values: [node ?? ''] }] };
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: volume, annotations: { [PROVISIONED_BY]: LOCAL_PATH_DRIVER } },
    spec: {
      accessModes,
      capacity: { storage: resources?.requests?.storage ?? '0' },
      volumeMode,
      storageClassName: storageClass.metadata.name,
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy,
      mountOptions: storageClass.mountOptions,
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid, resourceVersion },
      csi: { driver: LOCAL_PATH_DRIVER, volumeHandle: volume },
      ...(node !== undefined && { nodeAffinity: { required: { nodeSelectorTerms: [term] } } }),
    },
  };
}
