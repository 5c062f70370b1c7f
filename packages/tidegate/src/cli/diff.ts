import { KubeClient, type KubeObject, loadConfig } from '@tidegate/kube';
import { Command } from 'commander';
import { type PreviewedChange, preview } from '../apps/index.ts';
import { readApplicationFile } from './application-file.ts';
import { fail } from './process.ts';
import { documents } from './render.ts';
import { unifiedDiff } from './unified-diff.ts';
import { packageVersion } from './version.ts';

interface Options {
  filename: string;
  kubeconfig?: string;
  namespace?: string;
}

export function diffCommand(): Command {
  return new Command('diff')
    .description('show what applying an EdgeApplication would change in the cluster')
    .requiredOption('-f, --filename <file>', 'the EdgeApplication; - reads standard input')
    .option('--kubeconfig <file>', 'how to reach the cluster; as kubectl does when absent')
    .option('-n, --namespace <name>', 'the namespace of an EdgeApplication that names none')
    .addHelpText(
      'after',
      '\nEnds with 0 when nothing would change, 1 when something would, 2 when something is wrong.' +
        '\n\nExample:\n  tidegate diff -f app.yaml',
    )
    .action(run);
}

async function run({ filename, kubeconfig, namespace }: Options): Promise<void> {
  try {
    const { applications } = await readApplicationFile(filename);
    const config = await loadConfig({
      ...(kubeconfig !== undefined && { path: kubeconfig }),
      env: process.env,
    });
    const client = new KubeClient(config, { userAgent: `tidegate-diff/${packageVersion()}` });
    try {
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
    } finally {
      await client.close();
    }
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
    { name: `live/${file}`, text: before === undefined ? '' : documents([written(before)]) },
    { name: `wanted/${file}`, text: after === undefined ? '' : documents([written(after)]) },
  );
}

/** Without what the server itself counts and reports. */
function written({ status: _, ...object }: KubeObject): KubeObject {
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
