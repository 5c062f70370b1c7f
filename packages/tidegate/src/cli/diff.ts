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
        for (const text of changes.map(textOf).filter((text) => text !== '')) {
          process.stdout.write(text);
          process.exitCode ??= 1;
        }
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
