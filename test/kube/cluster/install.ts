/** Installs Tidegate from the manifests in `deploy`, with the permissions that they grant. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Kubectl } from '../../support/kubectl.ts';
import { repositoryFile } from '../../support/repository.ts';
import type { RealCluster } from './cluster.ts';

type Manifest = { apiVersion: string; kind: string; [field: string]: unknown };

export async function installTidegate({ kubectl }: RealCluster): Promise<void> {
  const definitions = await readdir(repositoryFile('deploy/crds'));
  const objects = await Promise.all(
    [
      ...definitions.map((name) => join('crds', name)),
      ...['manager.yaml', 'all-namespaces.yaml', 'hub.yaml'],
    ].map(readManifest),
  );
  // This version of Kubernetes does not know all fields of the definitions. Without validation, it ignores them.
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects.flat().map(forThisVersion) });
  await kubectl.run('apply --validate=false -f -', list);
  for (const part of ['admission', 'pools', 'routers', 'apps'])
    await kubectl.run(`-n tidegate-system rollout status deployment/tidegate-${part} --timeout=240s`);
  await installWebhooks(kubectl);
}

/** As the file describes: the account of the webhook may not write its authority there. */
async function installWebhooks(kubectl: Kubectl): Promise<void> {
  const authority = await kubectl.run(
    '-n tidegate-system get secret tidegate-webhook -o jsonpath={.data.ca\\.crt}',
  );
  const webhooks = await readFile(repositoryFile('deploy/webhooks-before-1.30.yaml'), 'utf8');
  await kubectl.run('apply -f -', webhooks.replaceAll('CA_BUNDLE', authority));
}

async function readManifest(name: string): Promise<Manifest[]> {
  const text = await readFile(repositoryFile(join('deploy', name)), 'utf8');
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((object) => object !== null);
}

/** Kubernetes 1.20 has disruption budgets in an older version of the API. */
const forThisVersion = (object: Manifest): Manifest =>
  object.kind === 'PodDisruptionBudget' ? { ...object, apiVersion: 'policy/v1beta1' } : object;
