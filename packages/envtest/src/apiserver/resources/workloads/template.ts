/** Shared parts of the kinds with a pod template. */
import type { KubeObject } from '@tidegate/kube';
import type { PodTemplateSpec } from '../pod/types.ts';
import type { TableColumn } from '../table.ts';
import { formatLabelSelector, type LabelSelector } from '../validation/selectors.ts';
import type { ReplicaSet, ReplicationController } from './types.ts';

const joined = (template: PodTemplateSpec | undefined, field: 'name' | 'image'): string =>
  (template?.spec?.containers ?? []).map((container) => container[field] ?? '').join(',');

/** The wide columns with the containers, images and selector of a template. */
export const templateColumns = <T extends KubeObject>(
  template: (object: T) => PodTemplateSpec | undefined,
): TableColumn<T>[] => [
  {
    name: 'Containers',
    wide: true,
    description: 'Names of each container in the template.',
    cell: (object) => joined(template(object), 'name'),
  },
  {
    name: 'Images',
    wide: true,
    description: 'Images referenced by each container in the template.',
    cell: (object) => joined(template(object), 'image'),
  },
];

/** The columns with the numbers of pods of a ReplicaSet or ReplicationController. */
export const replicaColumns: TableColumn<ReplicaSet | ReplicationController>[] = [
  { name: 'Desired', type: 'integer', field: 'spec.replicas', cell: ({ spec }) => spec.replicas ?? 0 },
  {
    name: 'Current',
    type: 'integer',
    field: 'status.replicas',
    cell: ({ status }) => status.replicas ?? 0,
  },
  {
    name: 'Ready',
    type: 'integer',
    field: 'status.readyReplicas',
    cell: ({ status }) => status.readyReplicas ?? 0,
  },
];

export const selectorColumn = <T extends KubeObject>(
  selector: (object: T) => LabelSelector | undefined,
  format: (selector: LabelSelector | undefined) => string = formatLabelSelector,
  field = 'spec.selector',
): TableColumn<T> => ({
  name: 'Selector',
  wide: true,
  field,
  cell: (object) => format(selector(object)),
});
