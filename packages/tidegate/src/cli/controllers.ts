import { KubeClient, loadConfig, Metrics } from '@tidegate/kube';
import { Command } from 'commander';
import { METRICS_PREFIX } from '../api/index.ts';
import { createLog } from './create-log.ts';
import { logLevelOption, nodeMonitorGracePeriodOption } from './options.ts';
import { packageVersion } from './package-files.ts';
import { fail, untilStopped } from './process.ts';

interface Options {
  kubeconfig: string;
  clusterCidr: string;
  nodeMonitorGracePeriod: number;
  logLevel: string;
}

export function controllersCommand(): Command {
  return new Command('controllers')
    .description('Run the controllers and the scheduler of the embedded cluster')
    .option('--kubeconfig <file>', 'kubeconfig file', '.tidegate/kubeconfig')
    .option('--cluster-cidr <range>', 'range of pod addresses', '127.64.0.0/16')
    .addOption(nodeMonitorGracePeriodOption())
    .addOption(logLevelOption())
    .action(run);
}

async function run(options: Options): Promise<void> {
  const stop = new AbortController();
  void untilStopped().then(() => stop.abort());
  try {
    const { runControllers } = await import('@tidegate/envtest/controllers');
    const config = await loadConfig({ path: options.kubeconfig, env: process.env });
    const client = new KubeClient(config, { userAgent: `tidegate-controllers/${packageVersion()}` });
    try {
      await runControllers({
        client,
        clusterCidr: options.clusterCidr,
        nodeGraceMs: options.nodeMonitorGracePeriod,
        log: createLog(options.logLevel),
        metrics: new Metrics({ prefix: METRICS_PREFIX }),
        signal: stop.signal,
        onSynced: () => process.send?.('ready'),
      });
    } finally {
      await client.close();
    }
  } catch (error) {
    fail(error);
  }
}
