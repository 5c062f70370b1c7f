import type { KubeObject } from '@tidegate/kube';
import { Command } from 'commander';
import { stringify } from 'yaml';
import { convertObject } from './converters.ts';
import { type Manifest, readManifests } from './manifest-file.ts';
import { fail } from './process.ts';

interface Options {
  filename: string;
  to?: string;
}

export function convertCommand(): Command {
  return new Command('convert')
    .description('print manifests in another version of their kind; needs no cluster')
    .requiredOption('-f, --filename <file>', 'the manifests; - reads standard input')
    .option('--to <version>', 'such as v1beta1 (default: the newest version of each kind)')
    .addHelpText(
      'after',
      `
NodePool has v1alpha1, v1beta1 and v1beta2. Fields that a version has no place for travel in an annotation, and come
back when the object is converted to a version that has one. All other objects are printed as they are.

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

/** All of them as YAML, in order; `note` hears which ones were left alone. */
export function convertManifests(
  manifests: readonly Manifest[],
  version: string | undefined,
  note: (text: string) => void,
): string {
  return manifests
    .map(({ object, document }) => {
      const converted = convertDeep(object, version, note);
      // As it was written, comments too.
      if (converted === object) return document.toString({ lineWidth: 0, directives: false });
      return stringify(converted, { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 });
    })
    .join('---\n');
}

/** The same object when there was nothing to convert. */
function convertDeep(
  object: KubeObject,
  version: string | undefined,
  note: (text: string) => void,
): KubeObject {
  if (object.kind.endsWith('List') && Array.isArray(object.items)) {
    const items = (object.items as KubeObject[]).map((item) => convertDeep(item, version, note));
    return items.every((item, index) => item === (object.items as KubeObject[])[index])
      ? object
      : { ...object, items };
  }
  const converted = convertObject(object, version);
  if (converted === undefined) {
    note(`${object.kind} ${object.metadata?.name ?? ''} has no other version: printed as it is`);
  }
  return converted ?? object;
}
