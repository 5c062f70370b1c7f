/** Conversion of kinds with several versions. */

import { type KubeObject, parseApiVersion } from '@tidegate/kube';
import {
  CONVERTED_FIELDS_ANNOTATION,
  convertNodePool,
  type NodePool,
  type NodePoolVersion,
  type YurtAppSet,
  type YurtAppSetVersion,
} from '../api/index.ts';
import { convertYurtAppSet } from '../yurtapps/index.ts';
import { toIngress, toIngressClass } from './ingress-conversion.ts';
import { CommandError } from './process.ts';

interface Converter {
  readonly group: string;
  readonly kind: string;
  /** Oldest first. The last one is the default target. */
  readonly versions: readonly string[];
  /** Some objects become several. */
  convert(object: KubeObject, version: string): KubeObject | KubeObject[];
}

const CONVERTERS: readonly Converter[] = [
  {
    group: 'apps.openyurt.io',
    kind: 'NodePool',
    versions: ['v1alpha1', 'v1beta1', 'v1beta2'],
    convert: toNodePool,
  },
  {
    group: 'apps.openyurt.io',
    kind: 'YurtAppSet',
    versions: ['v1alpha1', 'v1beta1'],
    convert: toYurtAppSet,
  },
  { group: 'extensions', kind: 'Ingress', versions: ['v1'], convert: toIngress },
  {
    group: 'networking.k8s.io',
    kind: 'Ingress',
    versions: ['v1'],
    convert: (object) => (object.apiVersion === 'networking.k8s.io/v1' ? object : toIngress(object)),
  },
  { group: 'network.k8s.io', kind: 'IngressClass', versions: ['v1'], convert: toIngressClass },
];

/** Returns the object in another version, or undefined if its kind has only one. */
export function convertObject(
  object: KubeObject,
  target: string | undefined,
): KubeObject | KubeObject[] | undefined {
  const { group } = parseApiVersion(object.apiVersion);
  const converter = CONVERTERS.find((known) => known.group === group && known.kind === object.kind);
  if (converter === undefined) return undefined;
  const { kind, versions } = converter;
  // A kind with one version is always converted to it: a file can have objects of several kinds.
  const version = (versions.length > 1 ? target : undefined) ?? versions.at(-1)!;
  if (!versions.includes(version)) {
    throw new CommandError(`${kind} has no version ${version}; supported versions: ${versions.join(', ')}`);
  }
  return converter.convert(object, version);
}

function toYurtAppSet(object: KubeObject, version: string): KubeObject {
  const app = { ...object, metadata: object.metadata ?? {} } as unknown as YurtAppSet;
  const converted = convertYurtAppSet(app, version as YurtAppSetVersion);
  if (!('message' in converted)) return converted as unknown as KubeObject;
  throw new CommandError(`YurtAppSet ${object.metadata?.name}: ${converted.path}: ${converted.message}`);
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
