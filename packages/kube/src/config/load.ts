import { type ClusterConfig, ConfigError } from './cluster.ts';
import { type ContextOptions, configFromContext } from './from-context.ts';
import { inClusterConfig, isInCluster } from './in-cluster.ts';
import { readKubeconfig } from './kubeconfig.ts';

export interface LoadOptions extends ContextOptions {
  /** One file that must exist, as with `--kubeconfig`. */
  path?: string;
}

/** Where kubectl would go: the kubeconfig if there is one, else the service account of this pod. */
export async function loadConfig(options: LoadOptions): Promise<ClusterConfig> {
  const kubeconfig = await readKubeconfig(options);
  if (kubeconfig !== undefined) return configFromContext(kubeconfig, options);
  if (isInCluster(options.env)) return inClusterConfig(options);
  throw new ConfigError('no cluster to talk to: set KUBECONFIG, or create ~/.kube/config');
}
