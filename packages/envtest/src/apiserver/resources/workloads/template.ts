/** Shared parts of the kinds with a pod template. */
import type { KubeObject } from '@tidegate/kube';
import type { PodTemplateSpec } from '../pod/types.ts';
import type { TableColumn } from '../table.ts';
import { formatLabelSelector, type LabelSelector } from '../validation/selectors.ts';

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
