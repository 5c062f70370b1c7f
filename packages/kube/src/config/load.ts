import { type ClusterConfig, ConfigError } from './cluster.ts';
import { type ContextOptions, configFromContext } from './from-context.ts';
import { inClusterConfig, isInCluster } from './in-cluster.ts';
import { readKubeconfig } from './kubeconfig.ts';

/** Options of {@link loadConfig}. Pass `process.env` as `env`. */
export interface LoadOptions extends ContextOptions {
  /** A file that must exist, like `--kubeconfig`. */
  path?: string;
}

/**
 * Finds the cluster in the same places as kubectl: the kubeconfig if there is one, otherwise the service account of
 * this pod.
 *
 * @example
 * const client = new KubeClient(await loadConfig({ env: process.env }), { userAgent: 'shop-controller/1.0' });
 */
export async function loadConfig(options: LoadOptions): Promise<ClusterConfig> {
  const kubeconfig = await readKubeconfig(options);
  if (kubeconfig !== undefined) return configFromContext(kubeconfig, options);
  if (isInCluster(options.env)) return inClusterConfig(options);
  throw new ConfigError('no cluster is configured: set KUBECONFIG, or create ~/.kube/config');
}
