import { type ClusterConfig, ConnectionError, isUnauthorized, KubeClient, loadConfig } from '@tidegate/kube';
import { Option } from 'commander';
import { packageVersion } from './package-files.ts';
import { CommandError } from './process.ts';

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
  } catch (error) {
    throw explained(error, config);
  } finally {
    await client.close();
  }
}

/** An error of the connection or of the credentials is the same for all commands. Other errors are left to the command. */
function explained(error: unknown, { server }: ClusterConfig): unknown {
  if (error instanceof ConnectionError)
    return new CommandError(
      `cannot reach the API server: ${error.message}. Check that it is running, and the server in the kubeconfig file`,
      { cause: error },
    );
  if (isUnauthorized(error))
    return new CommandError(
      `the API server ${server} does not accept the credentials of the kubeconfig file: ${(error as Error).message}. Renew them, or select another file with --kubeconfig or another context with --context`,
      { cause: error },
    );
  return error;
}

/** For commands that need the permissions of a cluster administrator. */
export const needsPermission = (cause: unknown, more = ''): CommandError =>
  new CommandError(
    `the user lacks permissions: ${(cause as Error).message}. Use a kubeconfig of a cluster administrator${more}`,
    { cause },
  );
