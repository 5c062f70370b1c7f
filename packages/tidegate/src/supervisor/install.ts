/** Installs the RBAC objects that hubs and the NodePort proxy need. */
import { readFile } from 'node:fs/promises';
import { Applier, type KubeClient, type KubeObject } from '@tidegate/kube';
import { parseAllDocuments } from 'yaml';
import { untilAccepted } from './retry.ts';

/** The service account of the NodePort proxy, named as in other clusters. */
export const PROXY_ACCOUNT = { namespace: 'kube-system', name: 'kube-proxy' };

const PROXY_OBJECTS: KubeObject[] = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: PROXY_ACCOUNT },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'tidegate:node-proxier' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:node-proxier' },
    subjects: [{ kind: 'ServiceAccount', ...PROXY_ACCOUNT }],
  },
];

/** `hubManifests` is the file with the RBAC objects of hubs. */
export async function installRbac(
  client: KubeClient,
  hubManifests: string,
  signal: AbortSignal,
  report: (line: string) => void = () => {},
): Promise<void> {
  const documents = parseAllDocuments(await readFile(hubManifests, 'utf8'));
  const applier = new Applier(client, 'tidegate-supervisor');
  for (const object of [...documents.map((document) => document.toJS() as KubeObject), ...PROXY_OBJECTS])
    await untilAccepted(() => applier.apply(object, { signal }), {
      what: `create ${object.kind} ${object.metadata.name}`,
      report,
      signal,
    });
}
