/** Whether the user of this command may install Tidegate. */
import { deniedAccess } from '../../install/index.ts';
import { type Check, error, ok } from '../check.ts';

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
    const needed = NEEDED.map((each) => ({ ...each, namespace }));
    const denied = (await deniedAccess(client, needed, signal)).map(
      ({ verb, resource }) => `${verb} ${resource}`,
    );
    return denied.length === 0
      ? [ok('the user may create all objects')]
      : [error(`the user may not ${denied.join(', ')}`, 'use a kubeconfig of a cluster administrator')];
  },
};
