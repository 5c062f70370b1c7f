/** Conversion of kinds with several versions. */

import { type KubeObject, parseApiVersion } from '@tidegate/kube';
import {
  CONVERTED_FIELDS_ANNOTATION,
  convertNodePool,
  type NodePool,
  type NodePoolVersion,
} from '../api/index.ts';
import { CommandError } from './process.ts';

interface Converter {
  readonly group: string;
  readonly kind: string;
  /** Oldest first. The last one is the default target. */
  readonly versions: readonly string[];
  convert(object: KubeObject, version: string): KubeObject;
}

const CONVERTERS: readonly Converter[] = [
  {
    group: 'apps.openyurt.io',
    kind: 'NodePool',
    versions: ['v1alpha1', 'v1beta1', 'v1beta2'],
    convert: toNodePool,
  },
];

/** Returns the object in another version, or undefined if its kind has only one. */
export function convertObject(object: KubeObject, target: string | undefined): KubeObject | undefined {
  const { group } = parseApiVersion(object.apiVersion);
  const converter = CONVERTERS.find((known) => known.group === group && known.kind === object.kind);
  if (converter === undefined) return undefined;
  const { kind, versions } = converter;
  const version = target ?? versions.at(-1)!;
  if (!versions.includes(version)) {
    throw new CommandError(`${kind} has no version ${version}; supported versions: ${versions.join(', ')}`);
  }
  return converter.convert(object, version);
}

function toNodePool(object: KubeObject, version: string): KubeObject {
  try {
    const pool = { ...object, metadata: object.metadata ?? {} } as NodePool;
    return convertNodePool(pool, version as NodePoolVersion) as KubeObject;
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new CommandError(
      `NodePool ${object.metadata.name}: the annotation ${CONVERTED_FIELDS_ANNOTATION} is not valid JSON (${cause.message}); remove the annotation`,
      { cause },
    );
  }
}
