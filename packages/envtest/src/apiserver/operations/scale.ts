import { isJsonMap, type KubeObject, ownField } from '@tidegate/kube';
import { fieldError, invalid, notFound } from '@tidegate/serving';
import { ageColumn, nameColumn, type Table, tablePrinter } from '../resources/table.ts';
import type { ResourceDefinition, ScalePaths, TablePrinter } from '../resources/types.ts';
import { type LabelSelector, labelSelectorString } from '../resources/validation/selectors.ts';
import { builtinSchema } from '../schema/builtin.ts';
import { refOf } from './core.ts';

/** The subresource `scale`: reads and sets the number of replicas of any kind. */

export function scaleOf(definition: ResourceDefinition, object: KubeObject): KubeObject {
  const paths = pathsOf(definition, object);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = selectorText(paths, object);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      uid,
      resourceVersion,
      creationTimestamp,
    },
    spec: replicasField(read(object, paths.specReplicasPath)),
    status: {
      replicas: Number(read(object, paths.statusReplicasPath) ?? 0),
      ...(selector !== '' && { selector }),
    },
  };
}

/** The object with the replicas of the Scale. If the Scale has a resourceVersion, it must be current. */
export function withScale(definition: ResourceDefinition, object: KubeObject, scale: KubeObject): KubeObject {
  const paths = pathsOf(definition, object);
  const replicas = (scale.spec as { replicas?: unknown } | undefined)?.replicas ?? 0;
  const name = object.metadata.name ?? '';
  if (typeof replicas !== 'number' || !Number.isInteger(replicas) || replicas < 0) {
    throw invalid({ group: 'autoscaling', kind: 'Scale' }, name, [
      fieldError.invalid('spec.replicas', replicas, 'must be greater than or equal to 0'),
    ]);
  }
  const changed = structuredClone(object);
  write(changed, paths.specReplicasPath, replicas);
  const version = scale.metadata?.resourceVersion;
  if (version === undefined || version === '') delete changed.metadata.resourceVersion;
  else changed.metadata.resourceVersion = version;
  return changed;
}

function pathsOf(definition: ResourceDefinition, object: KubeObject): ScalePaths {
  if (definition.scale === undefined) throw notFound(refOf(definition), object.metadata.name ?? '');
  return definition.scale;
}

const replicasField = (value: unknown): object =>
  Number(value ?? 0) === 0 ? {} : { replicas: Number(value) };

/** Built-in kinds have a LabelSelector, ReplicationControllers a map of labels, and custom resources the text form. */
function selectorText(paths: ScalePaths, object: KubeObject): string {
  if (paths.labelSelectorPath === undefined) return '';
  const value = read(object, paths.labelSelectorPath);
  if (typeof value === 'string' || value === undefined) return value ?? '';
  const isSelector = 'matchLabels' in (value as object) || 'matchExpressions' in (value as object);
  const selector = isSelector ? (value as LabelSelector) : { matchLabels: value as Record<string, string> };
  return labelSelectorString(selector);
}

const steps = (path: string): string[] => path.split('.').filter((s) => s !== '');

function read(object: KubeObject, path: string): unknown {
  let value: unknown = object;
  for (const step of steps(path)) value = isJsonMap(value) ? ownField(value, step) : undefined;
  return value;
}

function write(object: KubeObject, path: string, value: unknown): void {
  const names = steps(path);
  const last = names.pop() ?? '';
  let target: Record<string, unknown> = object;
  for (const step of names) {
    target[step] ??= {};
    target = target[step] as Record<string, unknown>;
  }
  target[last] = value;
}

type Replicas = KubeObject & Record<'spec' | 'status', { replicas?: number }>;

const scaleTable: Table<Replicas> = [
  { ...nameColumn, format: '' },
  { name: 'Desired', type: 'integer', field: 'spec.replicas', cell: ({ spec }) => spec.replicas ?? 0 },
  {
    name: 'Available',
    type: 'integer',
    field: 'status.replicas',
    cell: ({ status }) => status.replicas ?? 0,
  },
  ageColumn,
];

export const scalePrinter: TablePrinter = tablePrinter(scaleTable, () =>
  builtinSchema('autoscaling/v1', 'Scale'),
);
