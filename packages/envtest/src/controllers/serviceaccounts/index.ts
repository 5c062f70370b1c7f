/**
 * Keeps two objects in every namespace: the `default` ServiceAccount, which pods use unless they name another, and
 * the ConfigMap `kube-root-ca.crt`, with which pods verify the API server. Both are created again when they are
 * deleted.
 *
 * One new namespace: the informer in `in-every-namespace.ts` enqueues its name for both controllers;
 * `default-account.ts` and `root-ca.ts` describe the object, which is then created or repaired.
 */

export { serviceAccountController } from './default-account.ts';
export { rootCaController } from './root-ca.ts';
