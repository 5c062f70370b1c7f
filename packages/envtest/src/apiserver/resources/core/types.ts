import type { KubeObject } from '@tidegate/kube';
import type { IntOrString, ResourceList } from '../pod/types.ts';
import type { LabelSelector } from '../validation/selectors.ts';

export interface ObjectReference {
  apiVersion?: string;
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: string;
  resourceVersion?: string;
  fieldPath?: string;
}

export interface Event extends KubeObject {
  involvedObject?: ObjectReference;
  related?: ObjectReference;
  reason?: string;
  message?: string;
  type?: string;
  action?: string;
  count?: number;
  source?: { component?: string; host?: string };
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  series?: { count?: number; lastObservedTime?: string };
  reportingComponent?: string;
  reportingInstance?: string;
}

export interface Taint {
  key?: string;
  value?: string;
  effect?: string;
  timeAdded?: string;
}

export interface NodeSystemInfo {
  kubeletVersion?: string;
  osImage?: string;
  kernelVersion?: string;
  containerRuntimeVersion?: string;
  architecture?: string;
}

export interface Node extends KubeObject {
  spec: {
    podCIDR?: string;
    podCIDRs?: string[];
    providerID?: string;
    unschedulable?: boolean;
    taints?: Taint[];
  };
  status: {
    capacity?: ResourceList;
    allocatable?: ResourceList;
    addresses?: { type?: string; address?: string }[];
    conditions?: { type?: string; status?: string }[];
    nodeInfo?: NodeSystemInfo;
    daemonEndpoints?: { kubeletEndpoint?: { Port?: number } };
  };
}

export interface PodDisruptionBudget extends KubeObject {
  spec: {
    minAvailable?: IntOrString;
    maxUnavailable?: IntOrString;
    selector?: LabelSelector;
    unhealthyPodEvictionPolicy?: string;
  };
  status: {
    disruptionsAllowed?: number;
    currentHealthy?: number;
    desiredHealthy?: number;
    expectedPods?: number;
  };
}
