/** Installs Tidegate with its own command, as the installation guide does. */
import { type Finished, finish } from '../../support/process.ts';
import { PROGRAM } from '../../support/repository.ts';
import { type RealCluster, ROUTER_ADDRESSES } from './cluster.ts';

/** Applications and certificates are in all namespaces of the tests, so one team owns the cluster. */
const SETTINGS = ['--set', 'allNamespaces=true', '--set', `routers.allowedAddresses=${ROUTER_ADDRESSES}`];

export async function installTidegate(cluster: RealCluster, ...options: string[]): Promise<string> {
  const { code, signal, output } = await tidegate(cluster, 'install', ...SETTINGS, ...options);
  if (code !== 0) throw new Error(`tidegate install: exited with ${signal ?? code}: ${output}`);
  return output;
}

/** Runs `tidegate` in the network of the control plane, as its administrator unless the options name another kubeconfig. */
export function tidegate({ cloud }: RealCluster, ...args: string[]): Promise<Finished> {
  const own = args.includes('--kubeconfig') ? [] : ['--kubeconfig', cloud.adminKubeconfig];
  return finish([...cloud.namespace.wrapper, process.execPath, PROGRAM, ...args, ...own]);
}
