import type { KubeObject } from '@tidegate/kube';
import { Command, Option } from 'commander';
import { type PreviewedChange, preview } from '../apps/index.ts';
import { readApplicationFile } from './application-file.ts';
import { type ClusterFlags, contextOption, kubeconfigOption, withClient } from './cluster-client.ts';
import { type OctaviaFlags, octaviaOptions } from './octavia.ts';
import { FILENAME_FLAGS } from './options.ts';
import { CommandError, fail } from './process.ts';
import { documents } from './render.ts';
import { unifiedDiff } from './unified-diff.ts';

interface Options extends ClusterFlags, OctaviaFlags {
  filename?: string;
  router?: string;
  namespace?: string;
}

export function diffCommand(): Command {
  const command = new Command('diff')
    .description(
      'Show the changes that applying an EdgeApplication would make in the cluster, or the calls that would program a router',
    )
    .option(FILENAME_FLAGS, 'file with EdgeApplications; - reads standard input')
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .option(
      '-n, --namespace <name>',
      'namespace for EdgeApplications without one (default: that of the context)',
    )
    .addOption(
      new Option(
        '--router <name>',
        'an L7Router with the driver octavia: print the calls of its plan',
      ).conflicts('filename'),
    )
    .addHelpText(
      'after',
      '\nA line for each site on standard error says what happens there, and in which wave of a rollout.' +
        '\nExit status: 0 without differences, 1 with differences, 2 on an error.' +
        '\n\nExamples:\n  tidegate diff -f app.yaml\n  tidegate diff --router gold --octavia my-cluster',
    )
    .action(run);
  for (const option of octaviaOptions()) command.addOption(option);
  return command;
}

async function run({ filename, namespace, router, ...flags }: Options): Promise<void> {
  try {
    if (router !== undefined) {
      const { diffRouter } = await import('./diff-router.ts');
      if (await diffRouter(router, flags)) process.exitCode = 1;
      return;
    }
    if (filename === undefined) throw new CommandError('use -f FILE or --router NAME');
    const { applications } = await readApplicationFile(filename);
    await withClient(flags, async (client, config) => {
      for (const application of applications) {
        const metadata = { namespace: namespace ?? config.namespace, ...application.metadata };
        const { changes, problems } = await preview(client, { ...application, metadata });
        const visible = changes
          .map((change) => ({ change, text: textOf(change) }))
          .filter(({ text }) => text !== '');
        for (const { text } of visible) {
          process.stdout.write(text);
          process.exitCode ??= 1;
        }
        for (const line of summary(visible.map(({ change }) => change))) console.error(line);
        for (const problem of problems) {
          console.error(problem);
          process.exitCode = 2;
        }
      }
    });
  } catch (error) {
    fail(error);
    process.exitCode = 2;
  }
}

/** One line for each site: what happens there, and in which wave. */
function summary(changes: readonly PreviewedChange[]): string[] {
  const bySite = new Map<string, PreviewedChange[]>();
  for (const change of changes) {
    const { site = '' } = change;
    bySite.set(site, [...(bySite.get(site) ?? []), change]);
  }
  return [...bySite]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([site, all]) => {
      const wave = all[0]?.wave;
      const place = site === '' ? 'all sites' : `site ${site}${wave === undefined ? '' : ` (wave ${wave})`}`;
      return `${place}: ${all.map(actionOf).join(', ')}`;
    });
}

function actionOf({ identifier: { kind, name }, before, after }: PreviewedChange): string {
  const action = before === undefined ? 'create' : after === undefined ? 'delete' : 'change';
  return `${action} ${kind} ${name}`;
}

function textOf({ identifier, before, after }: PreviewedChange): string {
  const { group, version, kind, namespace, name } = identifier;
  const file = [group, version, kind, namespace, name]
    .filter((part) => part !== undefined && part !== '')
    .join('.');
  return unifiedDiff(
    { name: `live/${file}`, text: before === undefined ? '' : documents([withoutServerFields(before)]) },
    { name: `desired/${file}`, text: after === undefined ? '' : documents([withoutServerFields(after)]) },
  );
}

/** Without the fields that the API server maintains. */
function withoutServerFields({ status: _, ...object }: KubeObject): KubeObject {
  const {
    managedFields: _1,
    resourceVersion: _2,
    generation: _3,
    uid: _4,
    creationTimestamp: _5,
    ...metadata
  } = object.metadata;
  return { ...object, metadata };
}
