import { dirname, resolve } from 'node:path';
import { makeDirectory } from '@tidegate/disk';
import { Command } from 'commander';
import pino from 'pino';
import { logLevelOption, parsePort } from './options.ts';
import { CommandError, fail, untilStopped } from './process.ts';
import { packageVersion } from './version.ts';

interface Options {
  data: string;
  bind: string;
  port: number;
  kubeconfig: string;
  logLevel: string;
}

export function apiserverCommand(): Command {
  return new Command('apiserver')
    .description('run the embedded Kubernetes API server')
    .option('--data <dir>', 'where objects, keys and certificates are kept', '.tidegate/apiserver')
    .option('--bind <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 takes any free one', parsePort, 6443)
    .option('--kubeconfig <file>', 'where to write the kubeconfig when ready', '.tidegate/kubeconfig')
    .addOption(logLevelOption('debug writes an audit line for every change'))
    .action(run);
}

async function run(options: Options): Promise<void> {
  const started = performance.now();
  const log = pino({ level: options.logLevel }, pino.destination(2));
  const kubeconfig = resolve(options.kubeconfig);
  const stop = untilStopped();
  try {
    // Most of this program's code: only who needs it loads it.
    const { startApiServer } = await import('@tidegate/envtest/apiserver');
    const server = await startApiServer({
      directory: resolve(options.data),
      host: options.bind,
      port: options.port,
      log,
      version: packageVersion(),
    });
    try {
      writeKubeconfig(server, kubeconfig);
      const seconds = ((performance.now() - started) / 1000).toFixed(2);
      console.log(`Kubernetes API at ${server.url}, ready in ${seconds} s; data in ${options.data}.

Try it:
  export KUBECONFIG=${kubeconfig}
  kubectl get namespaces

Ctrl-C stops it; the next start goes on with the same data.`);
      process.send?.('ready');
      await stop;
    } finally {
      await server.close();
    }
  } catch (error) {
    fail(error, { port: options.port, address: options.bind });
  }
}

function writeKubeconfig(server: { writeAdminKubeconfig(path: string): void }, path: string): void {
  try {
    makeDirectory(dirname(path));
    server.writeAdminKubeconfig(path);
  } catch (cause) {
    throw new CommandError(`can not write the kubeconfig ${path}: ${(cause as Error).message}`, { cause });
  }
}
