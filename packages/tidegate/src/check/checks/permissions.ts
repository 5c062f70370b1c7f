/** Whether the user of this command may install Tidegate. */
import type { KubeObject, Resource } from '@tidegate/kube';
import { type Check, error, ok } from '../check.ts';

const REVIEWS: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'selfsubjectaccessreviews',
  namespaced: false,
};

const NEEDED = [
  { verb: 'create', resource: 'namespaces', group: '' },
  { verb: 'create', resource: 'customresourcedefinitions', group: 'apiextensions.k8s.io' },
  { verb: 'create', resource: 'clusterroles', group: 'rbac.authorization.k8s.io' },
  { verb: 'escalate', resource: 'clusterroles', group: 'rbac.authorization.k8s.io' },
  { verb: 'create', resource: 'clusterrolebindings', group: 'rbac.authorization.k8s.io' },
  { verb: 'create', resource: 'deployments', group: 'apps' },
  { verb: 'list', resource: 'nodes', group: '' },
];

export const permissions: Check = {
  name: 'permissions',
  title: 'Permissions to install',
  when: 'pre',
  async run({ client, namespace, signal }) {
    const denied: string[] = [];
    for (const resourceAttributes of NEEDED) {
      const { status } = await client.create<KubeObject>(
        REVIEWS,
        {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SelfSubjectAccessReview',
          metadata: {},
          spec: { resourceAttributes: { ...resourceAttributes, namespace } },
        } as KubeObject,
        { signal },
      );
      const { verb, resource } = resourceAttributes;
      if (!(status as { allowed?: boolean } | undefined)?.allowed) denied.push(`${verb} ${resource}`);
    }
    return denied.length === 0
      ? [ok('the user may create all objects')]
      : [error(`the user may not ${denied.join(', ')}`, 'use a kubeconfig of a cluster administrator')];
  },
};
