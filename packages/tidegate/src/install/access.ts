/** What the user of a command may do, asked before the first change. */
import type { KubeClient, KubeObject, Resource } from '@tidegate/kube';

const REVIEWS: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'selfsubjectaccessreviews',
  namespaced: false,
};

export interface Access {
  verb: string;
  group: string;
  resource: string;
  namespace?: string;
}

/** The parts of `needed` that the user may not do. */
export async function deniedAccess(
  client: KubeClient,
  needed: readonly Access[],
  signal?: AbortSignal,
): Promise<Access[]> {
  const denied: Access[] = [];
  for (const resourceAttributes of needed) {
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      metadata: {},
      spec: { resourceAttributes },
    } as KubeObject;
    const { status } = await client.create<KubeObject>(REVIEWS, review, { signal });
    if (!(status as { allowed?: boolean } | undefined)?.allowed) denied.push(resourceAttributes);
  }
  return denied;
}
