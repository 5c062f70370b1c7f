/** Creates identities of programs and nodes for tests. */
import { type KubeClient, SERVICE_ACCOUNTS } from '@tidegate/kube';
import { newSigningRequest, requestCertificate } from '@tidegate/kube/certificates';

/** A token of a service account, which is created if it does not exist. */
export async function accountToken(
  admin: KubeClient,
  name: string,
  namespace = 'default',
  audiences?: string[],
): Promise<string> {
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } };
  await admin.create(SERVICE_ACCOUNTS, account).catch((error) => {
    if (error.reason !== 'AlreadyExists') throw error;
  });
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { name, namespace },
    spec: { expirationSeconds: 3600, audiences },
  };
  const answer = await admin.create(SERVICE_ACCOUNTS, request, { subresource: 'token' });
  return (answer as unknown as { status: { token: string } }).status.token;
}

/** Lets an account read all objects of these resources. */
export async function allowReading(
  admin: KubeClient,
  name: string,
  resources: { group: string; resource: string }[],
  namespace = 'default',
): Promise<void> {
  const rules = resources.map(({ group, resource }) => ({
    apiGroups: [group],
    resources: [resource],
    verbs: ['get', 'list', 'watch'],
  }));
  const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: false };
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  await admin.create(
    { ...rbac, resource: 'clusterroles' },
    { apiVersion, kind: 'ClusterRole', metadata: { name: `test-${name}` }, rules },
  );
  await admin.create(
    { ...rbac, resource: 'clusterrolebindings' },
    {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name: `test-${name}` },
      roleRef: { apiGroup: rbac.group, kind: 'ClusterRole', name: `test-${name}` },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  );
}

/** The token of an account with all permissions; a hub could not pass on the administrator's certificate. */
export async function administratorToken(admin: KubeClient): Promise<string> {
  const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: false };
  await admin.create(
    { ...rbac, resource: 'clusterrolebindings' },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'root' },
      roleRef: { apiGroup: rbac.group, kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', name: 'root', namespace: 'default' }],
    },
  );
  return accountToken(admin, 'root');
}

/** The client certificate of a node, in PEM. `commonName` must have the prefix that the group system:nodes requires. */
export async function clientCertificate(
  admin: KubeClient,
  commonName: string,
): Promise<{ cert: string; key: string }> {
  const { key, request } = newSigningRequest({ commonName, organizations: ['system:nodes'] });
  const cert = await requestCertificate(admin, {
    namePrefix: 'test-',
    request,
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    usages: ['digital signature', 'client auth'],
    approve: true,
    signal: new AbortController().signal,
  });
  return { cert, key };
}
