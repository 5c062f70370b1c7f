import type { KubeObject } from '@tidegate/kube';

/** The form for clients that look at metadata only, such as garbage collectors and the metadata informers. */
export const partialMetadata = (object: KubeObject, apiVersion = 'meta.k8s.io/v1'): KubeObject => ({
  kind: 'PartialObjectMetadata',
  apiVersion,
  metadata: object.metadata,
});
