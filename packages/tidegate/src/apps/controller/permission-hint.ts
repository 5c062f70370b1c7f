import { type ApiStatusError, isForbidden, qualifiedName } from '@tidegate/kube';
import { type ResourceIdentifier, SYSTEM_NAMESPACE } from '../../api/index.ts';

const ACCOUNT = `${SYSTEM_NAMESPACE}:tidegate-apps`;

/** What the ClusterRole tidegate-apps in deploy/chart/templates/apps.yaml allows in a namespace that binds it. A test compares both. */
export const ROLE_RESOURCES: ReadonlySet<string> = new Set([
  'deployments.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'replicasets.apps',
  'controllerrevisions.apps',
  'jobs.batch',
  'cronjobs.batch',
  'pods',
  'services',
  'configmaps',
  'serviceaccounts',
  'persistentvolumeclaims',
  'ingresses.networking.k8s.io',
  'networkpolicies.networking.k8s.io',
  'poddisruptionbudgets.policy',
  'horizontalpodautoscalers.autoscaling',
]);

/**
 * The command that grants a permission the manager lacks, or an empty text if the error has another cause. Quotas, policies
 * and namespaces that are being deleted also answer Forbidden.
 */
export function permissionHint(error: ApiStatusError, identifier: ResourceIdentifier): string {
  if (!isForbidden(error) || !/ cannot \S+ resource /.test(error.message)) return '';
  const { group = '', resource = '', namespace } = identifier;
  const kind = qualifiedName({ group, resource });
  if (namespace !== undefined && ROLE_RESOURCES.has(kind))
    return `; to let Tidegate create objects in this namespace, run: kubectl create rolebinding tidegate-apps --namespace ${namespace} --clusterrole tidegate-apps --serviceaccount ${ACCOUNT}`;
  const role = `tidegate-apps-${resource}`;
  const create = `kubectl create clusterrole ${role} --verb=get,list,watch,create,patch,delete --resource=${kind}`;
  const bind = `--clusterrole ${role} --serviceaccount ${ACCOUNT}`;
  return namespace === undefined
    ? `; to let Tidegate manage ${resource}, run: ${create} && kubectl create clusterrolebinding ${role} ${bind}`
    : `; to let Tidegate manage ${resource} in this namespace, run: ${create} && kubectl create rolebinding ${role} --namespace ${namespace} ${bind}`;
}
