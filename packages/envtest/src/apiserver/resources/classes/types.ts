/** The fields of RuntimeClass that the server uses. */
import type { KubeObject } from '@tidegate/kube';
import type { Toleration } from '../pod/types.ts';
import type { ResourceList } from '../validation/resource-names.ts';

export interface RuntimeClass extends KubeObject {
  handler?: string;
  overhead?: { podFixed?: ResourceList };
  scheduling?: { nodeSelector?: Record<string, string>; tolerations?: Toleration[] };
}
