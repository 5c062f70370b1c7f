import type { KubeObject } from '@tidegate/kube';
import { Command } from 'commander';
import { stringify } from 'yaml';
import type { EdgeApplication } from '../api/index.ts';
import {
  builtInScopes,
  distinctErrors,
  type KindOfPool,
  type RenderError,
  type Rendered,
  render,
  targetsOf,
} from '../apps/index.ts';
import { readApplicationFile } from './application-file.ts';
import { FILENAME_FLAGS } from './options.ts';
import { CommandError, fail } from './process.ts';

interface Options {
  filename: string;
  pool?: string;
}

export function renderCommand(): Command {
  return new Command('render')
    .description('Render the objects of an EdgeApplication, without a cluster')
    .requiredOption(FILENAME_FLAGS, 'file with EdgeApplications; - reads standard input')
    .option('--pool <name>', 'render only the edition for this pool')
    .addHelpText(
      'after',
      '\nTarget pools are assumed to be NodeGroups, unless the file contains a NodePool with the same name.' +
        '\n\nExamples:\n  tidegate render -f app.yaml --pool hangzhou\n  kubectl get eapp nginx-app -o yaml | tidegate render -f -',
    )
    .action(run);
}

async function run({ filename, pool }: Options): Promise<void> {
  try {
    const { applications, kindOfPool } = await readApplicationFile(filename);
    const results = applications.map((application) => renderApplication(application, kindOfPool, pool));
    const objects = results.flatMap((result) => result.objects.map(({ object }) => object));
    process.stdout.write(documents(objects));
    for (const { path, message } of distinctErrors(results.flatMap(({ errors }) => errors))) {
      console.error(`${path}: ${message}`);
      process.exitCode = 1;
    }
  } catch (error) {
    fail(error);
  }
}

function renderApplication(
  application: EdgeApplication,
  kindOfPool: KindOfPool,
  pool: string | undefined,
): { objects: readonly Rendered[]; errors: readonly RenderError[] } {
  const { targets, errors: targetErrors } = targetsOf(application, kindOfPool);
  const { objects, errors } = render(application, targets, builtInScopes);
  if (pool === undefined) return { objects, errors: [...targetErrors, ...errors] };
  if (!targets.some(({ edition }) => edition === pool)) {
    const names = targets.map(({ edition }) => edition).join(', ') || 'none';
    throw new CommandError(
      `EdgeApplication ${application.metadata.name} has no edition for pool ${pool}; editions: ${names}`,
    );
  }
  return {
    objects: objects.filter(({ edition }) => edition === pool),
    errors: errors.filter(({ edition }) => edition === undefined || edition === pool),
  };
}

/** YAML that has the same meaning when it is parsed as YAML 1.1, as kubectl does. */
export const documents = (objects: readonly KubeObject[]): string =>
  objects
    .map((object) => stringify(object, { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 }))
    .join('---\n');
