import { KubeClient, loadConfig } from '@tidegate/kube';
import { Option } from 'commander';
import { packageVersion } from './version.ts';

/** How kubectl calls IngressClasses besides. */
export const CLASS_WORDS = [
  'ingressclasses',
  'ingressclass.networking.k8s.io',
  'ingressclasses.networking.k8s.io',
];

export const kubeconfigOption = (): Option =>
  new Option(
    '--kubeconfig <file>',
    'how to reach the API server (default: as kubectl; in a pod, its account)',
  );

/** For commands that ask a cluster something and end. */
export async function withClient<T>(
  { kubeconfig }: { kubeconfig?: string },
  ask: (client: KubeClient) => Promise<T>,
): Promise<T> {
  const config = await loadConfig({ path: kubeconfig, env: process.env });
  const client = new KubeClient(config, { userAgent: `tidegate/${packageVersion()}` });
  try {
    return await ask(client);
  } finally {
    await client.close();
  }
}
