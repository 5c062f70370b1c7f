import { quotePath } from '@tidegate/disk';
import { Command } from 'commander';
import { DEFAULT_NAMESPACE } from '../install/index.ts';
import {
  type ClusterReport,
  callerFor,
  callSupervisor,
  nodeReports,
  readCluster,
  type StateDirectory,
} from '../supervisor/index.ts';
import { type ClusterFlags, contextOption, kubeconfigOption, withClient } from './cluster-client.ts';
import { frontDoorsTable, nodesTable, poolsTable, processesTable, routesTable } from './cluster-text.ts';
import { outputOption, stateOption } from './options.ts';
import { fail } from './process.ts';
import { stateOf } from './state.ts';

export function statusCommand(): Command {
  return new Command('status')
    .description('Show cluster status: pools, links, nodes, front doors, routes and processes')
    .addOption(stateOption())
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .option('-n, --namespace <name>', `namespace of the installation (default: ${DEFAULT_NAMESPACE})`)
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
With --kubeconfig, --context or --namespace, it shows the installation on that cluster: manager, pools and front doors.

Examples:
  tidegate status -o json
  tidegate status --context production`,
    )
    .action(run);
}

interface Options extends ClusterFlags {
  state: string;
  namespace?: string;
  output?: 'json';
}

async function run(options: Options): Promise<void> {
  const { kubeconfig, context, namespace } = options;
  const isRemote = [kubeconfig, context, namespace].some((flag) => flag !== undefined);
  return isRemote ? showInstallation(options) : showLocalCluster(options);
}

async function showInstallation(options: Options): Promise<void> {
  try {
    const { readStatus, statusText } = await import('./remote-status.ts');
    await withClient(options, async (client) => {
      const status = await readStatus(client, options.namespace ?? DEFAULT_NAMESPACE);
      console.log(options.output === 'json' ? JSON.stringify(status, undefined, 2) : statusText(status));
    });
  } catch (error) {
    fail(error);
  }
}

async function showLocalCluster(options: Options): Promise<void> {
  const state = stateOf(options);
  try {
    const answer = await callSupervisor(state, { command: 'status' });
    const report = (answer?.result as ClusterReport | undefined) ?? (await reportOfStopped(state));
    if (options.output === 'json') console.log(JSON.stringify(report ?? { phase: 'absent' }, undefined, 2));
    else if (report === undefined)
      console.log(
        `No cluster in ${quotePath(state.path)}. Create one with \`${callerFor(state.path)('up')}\`. For an installation on another cluster, use --kubeconfig, --context or --namespace.`,
      );
    else console.log(text(report));
  } catch (error) {
    fail(error);
  }
}

/** The report of a stopped cluster, from its state directory; undefined when the directory holds no cluster. */
async function reportOfStopped(state: StateDirectory): Promise<ClusterReport | undefined> {
  const cluster = await readCluster(state);
  if (cluster === undefined) return undefined;
  return {
    phase: 'stopped',
    stateDirectory: state.path,
    kubeconfig: state.kubeconfig,
    api: { url: `https://127.0.0.1:${cluster.port}`, reachable: false },
    warnings: [],
    processes: [],
    nodes: nodeReports(cluster, new Map(), undefined),
    pools: [],
    frontDoors: [],
    routes: [],
  };
}

function text(report: ClusterReport): string {
  if (report.phase === 'stopped') {
    return [
      `Stopped. Start it with \`${callerFor(report.stateDirectory)('up')}\`. State directory: ${quotePath(report.stateDirectory)}`,
      '',
      nodesTable(report),
    ].join('\n');
  }
  return [
    `${report.phase[0]?.toUpperCase()}${report.phase.slice(1)} since ${report.since}, pid ${report.pid}. State directory: ${quotePath(report.stateDirectory)}`,
    `Kubernetes API: ${report.api.url}${report.api.reachable ? '' : ' (unreachable; the nodes are shown as last seen)'}`,
    ...report.warnings.map((warning) => `Warning: ${warning}`),
    ...[
      poolsTable(report),
      nodesTable(report),
      ...(report.api.reachable ? [frontDoorsTable(report, Date.now()), routesTable(report)] : []),
      processesTable(report),
    ].map((table) => `\n${table}`),
  ].join('\n');
}
