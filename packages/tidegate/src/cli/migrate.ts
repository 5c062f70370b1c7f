import { writeFile } from 'node:fs/promises';
import { quotePath } from '@tidegate/disk';
import { Command, Option } from 'commander';
import { readMigrationObjects } from './migrate-objects.ts';
import { type MigrationFlags, withSelection } from './migrate-selection.ts';
import { finishCommand, sideBySideCommand, switchCommand } from './migrate-switch.ts';
import { verifyCommand } from './migrate-verify.ts';
import { CommandError, fail } from './process.ts';

interface Options extends MigrationFlags {
  all?: true;
  output?: 'json' | 'html';
  html?: string;
}

export function migrateCommand(): Command {
  return new Command('migrate')
    .description('Move from ingress-nginx to Tidegate')
    .addCommand(ingressNginxCommand())
    .addCommand(verifyCommand())
    .addCommand(sideBySideCommand())
    .addCommand(switchCommand())
    .addCommand(finishCommand());
}

function ingressNginxCommand(): Command {
  return withSelection(
    new Command('ingress-nginx').description(
      'Report which Ingresses of ingress-nginx work unchanged, and what changes',
    ),
  )
    .option('--all', 'also list what stays the same')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['json', 'html']))
    .option('--html <file>', 'also write the report as one HTML page')
    .addHelpText(
      'after',
      `
Nothing is changed, and no request is sent. The report computes the answers of both controllers to requests for all
paths, their neighbors and other spellings. The exit status is 2 if an Ingress or a key of the ConfigMap is refused, otherwise 0.

Examples:
  tidegate migrate ingress-nginx
  tidegate migrate ingress-nginx --html report.html
  kubectl get ingress,ingressclass -A -o yaml | tidegate migrate ingress-nginx -f - -o json`,
    )
    .action(run);
}

async function run(options: Options): Promise<void> {
  try {
    const objects = await readMigrationObjects(options);
    const { migrationReport, reportHtml, reportText } = await import('../migrate/index.ts');
    const { ingressClass: classNames, controller } = options;
    const report = migrationReport(objects, { classNames, controller }, Date.now());
    if (report.counts.ingresses === 0)
      throw new CommandError(
        `no Ingress of ingress-nginx found (controller ${controller}); name its class with --ingress-class`,
      );
    const html = (): string => reportHtml(report, new Date().toISOString().slice(0, 10));
    if (options.html !== undefined) await write(options.html, html());
    if (options.output === 'json') console.log(JSON.stringify(report, undefined, 2));
    else if (options.output === 'html') process.stdout.write(html());
    else console.log(reportText(report, options.all === true));
    const isRefused =
      report.counts.refused > 0 ||
      report.configMaps.some(({ keys }) => keys.some(({ verdict }) => verdict === 'refused'));
    if (isRefused) process.exitCode = 2;
  } catch (error) {
    fail(error);
  }
}

async function write(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch (error) {
    throw new CommandError(`cannot write ${quotePath(path)}: ${(error as Error).message}`, { cause: error });
  }
}
