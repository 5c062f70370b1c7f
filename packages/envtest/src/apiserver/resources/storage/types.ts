/** The fields of the storage kinds that the server uses. */
import type { KubeObject } from '@tidegate/kube';
import type { NodeSelector, Volume } from '../pod/types.ts';
import type { ResourceList } from '../validation/resource-names.ts';
import type { LabelSelector } from '../validation/selectors.ts';

export interface ObjectReference {
  kind?: string;
  apiVersion?: string;
  namespace?: string;
  name?: string;
  uid?: string;
}

export interface DataSource {
  /** null in responses if it is not set. */
  apiGroup?: string | null;
  kind?: string;
  name?: string;
  namespace?: string;
}

export interface ClaimSpec {
  accessModes?: string[];
  selector?: LabelSelector;
  resources?: { requests?: ResourceList; limits?: ResourceList };
  volumeName?: string;
  storageClassName?: string;
  volumeMode?: string;
  dataSource?: DataSource;
  dataSourceRef?: DataSource;
  volumeAttributesClassName?: string;
}

export interface PersistentVolumeClaim extends KubeObject {
  spec: ClaimSpec;
  status: {
    phase?: string;
    accessModes?: string[];
    capacity?: ResourceList;
    currentVolumeAttributesClassName?: string;
  };
}

export interface CsiSource {
  driver?: string;
  volumeHandle?: string;
  controllerExpandSecretRef?: object;
}

/** Sources other than these are accepted without validation. */
export interface VolumeSources {
  hostPath?: Volume['hostPath'];
  nfs?: Volume['nfs'];
  local?: { path?: string; fsType?: string };
  csi?: CsiSource;
}

export interface PersistentVolumeSpec extends VolumeSources {
  accessModes?: string[];
  capacity?: ResourceList;
  claimRef?: ObjectReference;
  persistentVolumeReclaimPolicy?: string;
  storageClassName?: string;
  volumeMode?: string;
  volumeAttributesClassName?: string;
  mountOptions?: string[];
  nodeAffinity?: { required?: NodeSelector };
}

export interface PersistentVolume extends KubeObject {
  spec: PersistentVolumeSpec;
  status: { phase?: string; reason?: string; message?: string; lastPhaseTransitionTime?: string };
}

export interface TopologyTerm {
  matchLabelExpressions?: { key?: string; values?: string[] }[];
}

export interface StorageClass extends KubeObject {
  provisioner?: string;
  parameters?: Record<string, string>;
  reclaimPolicy?: string;
  volumeBindingMode?: string;
  allowVolumeExpansion?: boolean;
  allowedTopologies?: TopologyTerm[];
}

export interface VolumeAttributesClass extends KubeObject {
  driverName?: string;
  parameters?: Record<string, string>;
}

export interface CsiDriver extends KubeObject {
  spec: {
    attachRequired?: boolean;
    podInfoOnMount?: boolean;
    storageCapacity?: boolean;
    fsGroupPolicy?: string;
    requiresRepublish?: boolean;
    seLinuxMount?: boolean;
    volumeLifecycleModes?: string[];
    tokenRequests?: { audience?: string; expirationSeconds?: number }[];
    nodeAllocatableUpdatePeriodSeconds?: number;
    serviceAccountTokenInSecrets?: boolean;
  };
}

export interface CsiNodeDriver {
  name?: string;
  nodeID?: string;
  topologyKeys?: string[] | null;
  allocatable?: { count?: number };
}

export interface CsiNode extends KubeObject {
  spec: { drivers?: CsiNodeDriver[] | null };
}

export interface CsiStorageCapacity extends KubeObject {
  storageClassName?: string;
  nodeTopology?: LabelSelector;
  capacity?: string;
}

export interface VolumeAttachment extends KubeObject {
  spec: {
    attacher?: string;
    nodeName?: string;
    source?: { persistentVolumeName?: string; inlineVolumeSpec?: PersistentVolumeSpec };
  };
  status: { attached?: boolean };
}
