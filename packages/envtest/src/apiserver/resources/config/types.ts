import type { KubeObject } from '@tidegate/kube';

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
  immutable?: boolean;
}

export interface Secret extends KubeObject {
  type?: string;
  /** Values are base64-encoded. */
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  immutable?: boolean;
}
