import type { KubeObject } from '@tidegate/kube';
import { Command } from 'commander';
import { stringify } from 'yaml';
import { convertObject } from './converters.ts';
import { type Manifest, readManifests } from './manifest-file.ts';
import { FILENAME_FLAGS } from './options.ts';
import { fail } from './process.ts';

interface Options {
  filename: string;
  to?: string;
}

export function convertCommand(): Command {
  return new Command('convert')
    .description('Convert manifests to another API version, without a cluster')
    .requiredOption(FILENAME_FLAGS, 'file with manifests; - reads standard input')
    .option(
      '--to <version>',
      'target version, for example v1beta1 (default: the newest version of each kind)',
    )
    .addHelpText(
      'after',
      `
NodePools can be converted between v1alpha1, v1beta1 and v1beta2. Fields that the target version does not have are kept
in an annotation, and restored by a conversion to a version that has them. Ingresses of extensions/v1beta1 and
networking.k8s.io/v1beta1 become networking.k8s.io/v1. An IngressClass of network.k8s.io/v1, which has a provisioner and
parameters, becomes an IngressClass and an IngressClassParameters. Other objects are printed unchanged.

Examples:
  tidegate convert -f pools.yaml > new-pools.yaml
  kubectl get nodepool hangzhou -o yaml | tidegate convert -f - --to v1alpha1`,
    )
    .action(run);
}

async function run({ filename, to }: Options): Promise<void> {
  try {
    const manifests = await readManifests(filename);
    const note = (text: string): void => console.error(`tidegate: ${text}`);
    process.stdout.write(convertManifests(manifests, to, note));
  } catch (error) {
    fail(error);
  }
}

/** Returns all manifests as YAML, in order. Calls `note` for each object that was not converted. */
export function convertManifests(
  manifests: readonly Manifest[],
  version: string | undefined,
  note: (text: string) => void,
): string {
  return manifests
    .flatMap(({ object, document }) => {
      const converted = convertDeep(object, version, note);
      // Keep the original document with its comments.
      if (converted[0] === object) return [document.toString({ lineWidth: 0, directives: false })];
      return converted.map((each) =>
        stringify(each, { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 }),
      );
    })
    .join('---\n');
}

/** Returns a list with the same object if there is nothing to convert. */
function convertDeep(
  object: KubeObject,
  version: string | undefined,
  note: (text: string) => void,
): KubeObject[] {
  if (object.kind.endsWith('List') && Array.isArray(object.items)) {
    const items = (object.items as KubeObject[]).flatMap((item) => convertDeep(item, version, note));
    const isSame = items.every((item, index) => item === (object.items as KubeObject[])[index]);
    return [isSame ? object : { ...object, items }];
  }
  const converted = convertObject(object, version);
  if (converted === undefined) {
    note(`${object.kind} ${object.metadata?.name ?? ''} has only one version; printed unchanged`);
  }
  return [converted ?? object].flat();
}
