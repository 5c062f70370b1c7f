import { type ApiStatusError, isForbidden, qualifiedName } from '@tidegate/kube';
import { type ResourceIdentifier, SYSTEM_NAMESPACE } from '../../api/index.ts';

const ACCOUNT = `${SYSTEM_NAMESPACE}:tidegate-apps`;

/**
 * The commands that grant a permission the manager lacks, or an empty text if the error has another cause. Quotas, policies
 * and namespaces that are being deleted also answer Forbidden.
 */
export function permissionHint(error: ApiStatusError, identifier: ResourceIdentifier): string {
  if (!isForbidden(error) || !/ cannot \S+ resource /.test(error.message)) return '';
  const { group = '', resource = '', namespace } = identifier;
  const role = `tidegate-apps-${resource}`;
  const create = `kubectl create clusterrole ${role} --verb=get,list,watch,create,patch,delete --resource=${qualifiedName({ group, resource })}`;
  const bind = `--clusterrole ${role} --serviceaccount ${ACCOUNT}`;
  if (namespace === undefined)
    return `; to let Tidegate manage ${resource}, run: ${create} && kubectl create clusterrolebinding ${role} ${bind}`;
  return (
    `; to let Tidegate create objects in this namespace, run: kubectl create rolebinding tidegate-apps --namespace ${namespace} --clusterrole tidegate-apps --serviceaccount ${ACCOUNT}` +
    `; if that role does not include ${resource}, run: ${create} && kubectl create rolebinding ${role} --namespace ${namespace} ${bind}`
  );
}
