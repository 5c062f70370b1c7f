import type { KubeObject } from '@tidegate/kube';

/** The form for clients that read only metadata, for example garbage collectors and metadata informers. */
export const partialMetadata = (object: KubeObject, apiVersion = 'meta.k8s.io/v1'): KubeObject => ({
  kind: 'PartialObjectMetadata',
  apiVersion,
  metadata: object.metadata,
});
