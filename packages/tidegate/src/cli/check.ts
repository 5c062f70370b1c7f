import { Command } from 'commander';
import type { CheckReport, Finding } from '../check/index.ts';
import { DEFAULT_NAMESPACE, readChart } from '../install/index.ts';
import { ask } from './ask.ts';
import { type ClusterFlags, contextOption, kubeconfigOption, withClient } from './cluster-client.ts';
import { outputOption } from './options.ts';
import { packageFile } from './package-files.ts';
import { fail, stopSignal } from './process.ts';

interface Options extends ClusterFlags {
  namespace: string;
  pre?: true;
  output?: 'json';
}

export function checkCommand(): Command {
  return new Command('check')
    .description('Check an installation, or with --pre whether Tidegate can be installed')
    .option('--pre', 'check the cluster before an installation')
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .option('-n, --namespace <name>', 'namespace of the installation', DEFAULT_NAMESPACE)
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
The exit status is 1 if there is an error. Warnings do not change it.

Examples:
  tidegate check --pre
  tidegate check -o json`,
    )
    .action(run);
}

async function run(options: Options): Promise<void> {
  const signal = stopSignal();
  try {
    const { checksFor, hasErrors, runChecks } = await import('../check/index.ts');
    await withClient(options, async (client) => {
      const context = {
        client,
        namespace: options.namespace,
        chart: readChart(packageFile('deploy/chart')),
        now: Date.now,
        ask,
        signal,
      };
      const print = (report: CheckReport): void => {
        if (options.output !== 'json') console.log(reportText(report));
      };
      const reports = await runChecks(checksFor(options.pre ? 'pre' : 'installed'), context, print);
      if (options.output === 'json') console.log(JSON.stringify(reports, undefined, 2));
      else console.log(summary(reports));
      if (hasErrors(reports)) process.exitCode = 1;
    });
  } catch (error) {
    fail(error);
  }
}

const MARKS = { ok: 'ok     ', warning: 'WARNING', error: 'ERROR  ' };

const reportText = ({ title, findings }: CheckReport): string =>
  [title, ...findings.map(findingText)].join('\n');

const findingText = ({ level, message, hint }: Finding): string =>
  `  ${MARKS[level]} ${message}${hint === undefined ? '' : `\n          -> ${hint}`}`;

function summary(reports: readonly CheckReport[]): string {
  const all = reports.flatMap(({ findings }) => findings);
  const count = (level: Finding['level']): number => all.filter((each) => each.level === level).length;
  return `\n${count('error')} errors, ${count('warning')} warnings`;
}
