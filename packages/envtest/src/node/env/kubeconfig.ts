import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '@tidegate/kube';
import type { Container, ContainerPlace } from '../contracts.ts';

/** Where client libraries in pods look for their credentials. */
const TOKEN_MOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Writes a kubeconfig for the programs of a container. The token mount is not at its usual absolute path, because
 * the pods share the file system of this machine, so programs find it through KUBECONFIG. Returns the path;
 * undefined when the container mounts no token, or when the Service `default/kubernetes` is unknown.
 */
export async function writeKubeconfig(
  pod: Pod,
  container: Container,
  place: ContainerPlace,
  apiEndpoint: string | undefined,
): Promise<string | undefined> {
  if (apiEndpoint === undefined) return undefined;
  if (!container.volumeMounts?.some(({ mountPath }) => mountPath === TOKEN_MOUNT)) return undefined;
  const mount = join(place.root, TOKEN_MOUNT);
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'cluster',
        cluster: { server: `https://${apiEndpoint}`, 'certificate-authority': join(mount, 'ca.crt') },
      },
    ],
    users: [{ name: 'pod', user: { tokenFile: join(mount, 'token') } }],
    contexts: [
      { name: 'pod', context: { cluster: 'cluster', user: 'pod', namespace: pod.metadata.namespace } },
    ],
    'current-context': 'pod',
  };
  const file = join(place.directory, 'kubeconfig');
  await writeFile(`${file}.tmp`, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.tmp`, file);
  return file;
}
