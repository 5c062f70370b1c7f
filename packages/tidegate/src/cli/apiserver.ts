import { dirname, resolve } from 'node:path';
import { makeDirectory, quotePath } from '@tidegate/disk';
import { Command } from 'commander';
import { createLog } from './create-log.ts';
import { logLevelOption, parseAddress, parsePort, parseRange } from './options.ts';
import { packageVersion } from './package-files.ts';
import { CommandError, fail, untilStopped } from './process.ts';

interface Options {
  state: string;
  bindAddress: string;
  port: number;
  serviceClusterIpRange?: string;
  kubeconfig: string;
  podMetrics?: true;
  logLevel: string;
}

export function apiserverCommand(): Command {
  return new Command('apiserver')
    .description('Run the embedded Kubernetes API server')
    .option('--state <dir>', 'state directory: objects, keys and certificates', '.tidegate/apiserver')
    .option('--bind-address <address>', 'address to listen on', parseAddress, '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 selects a free port', parsePort, 6443)
    .option(
      '--service-cluster-ip-range <range>',
      'range of ClusterIPs, which cannot change while Services exist (default: 10.96.0.0/16)',
      parseRange,
    )
    .option(
      '--pod-metrics',
      'serve metrics.k8s.io, with the usage that annotations of pods and workloads declare',
    )
    .option(
      '--kubeconfig <file>',
      'kubeconfig file to write when the server is ready',
      '.tidegate/kubeconfig',
    )
    .addOption(logLevelOption('minimum level of log messages; debug includes an audit line for every change'))
    .addHelpText(
      'after',
      '\nExample:\n  tidegate apiserver --state ./state --port 0 --kubeconfig ./kubeconfig',
    )
    .action(run);
}

async function run(options: Options): Promise<void> {
  const started = performance.now();
  const log = createLog(options.logLevel);
  const kubeconfig = resolve(options.kubeconfig);
  const stop = untilStopped();
  try {
    // Imported here because it is most of the code of the program, and other commands start faster without it.
    const { startApiServer } = await import('@tidegate/envtest/apiserver');
    const server = await startApiServer({
      directory: resolve(options.state),
      host: options.bindAddress,
      port: options.port,
      ...(options.serviceClusterIpRange === undefined ? {} : { serviceCIDR: options.serviceClusterIpRange }),
      podMetrics: options.podMetrics === true,
      log,
      version: packageVersion(),
    });
    try {
      writeKubeconfig(server, kubeconfig);
      const seconds = ((performance.now() - started) / 1000).toFixed(2);
      console.log(`Kubernetes API at ${server.url}, ready in ${seconds} s, state in ${quotePath(options.state)}.

Try it:
  export KUBECONFIG=${quotePath(kubeconfig)}
  kubectl get namespaces

Press Ctrl-C to stop. The next start resumes with the same state.`);
      process.send?.('ready');
      await stop;
    } finally {
      await server.close();
    }
  } catch (error) {
    fail(error, { port: options.port, address: options.bindAddress });
  }
}

function writeKubeconfig(server: { writeAdminKubeconfig(path: string): void }, path: string): void {
  try {
    makeDirectory(dirname(path));
    server.writeAdminKubeconfig(path);
  } catch (cause) {
    throw new CommandError(`cannot write the kubeconfig ${quotePath(path)}: ${(cause as Error).message}`, {
      cause,
    });
  }
}
