import { type ClusterConfig, KubeClient, loadConfig } from '@tidegate/kube';
import { Option } from 'commander';
import { packageVersion } from './package-files.ts';

/** The other names that kubectl accepts for IngressClasses. */
export const CLASS_ALIASES = [
  'ingressclasses',
  'ingressclass.networking.k8s.io',
  'ingressclasses.networking.k8s.io',
];

/** How a command finds its cluster. */
export interface ClusterFlags {
  kubeconfig?: string;
  context?: string;
}

export const kubeconfigOption = (): Option =>
  new Option(
    '--kubeconfig <file>',
    'kubeconfig file (default: as for kubectl; in a pod, the service account)',
  );

export const contextOption = (): Option =>
  new Option('--context <name>', 'context of the kubeconfig file (default: its current context)');

/** Loads the configuration of the cluster that the flags name. */
export const clusterConfig = ({ kubeconfig, context }: ClusterFlags): Promise<ClusterConfig> =>
  loadConfig({ path: kubeconfig, context, env: process.env });

/** Runs `use` with a client, for commands that query a cluster and exit. */
export async function withClient<T>(
  flags: ClusterFlags,
  use: (client: KubeClient, config: ClusterConfig) => Promise<T>,
): Promise<T> {
  const config = await clusterConfig(flags);
  const client = new KubeClient(config, { userAgent: `tidegate/${packageVersion()}` });
  try {
    return await use(client, config);
  } finally {
    await client.close();
  }
}
