/**
 * What a pod finds in every namespace without anybody having made it: the `default` ServiceAccount that it runs as, and
 * the ConfigMap `kube-root-ca.crt` by which it knows the API server. Both come back when somebody deletes them.
 */

export { serviceAccountController } from './default-account.ts';
export { rootCaController } from './root-ca.ts';
