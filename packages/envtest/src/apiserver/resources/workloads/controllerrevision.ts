import { type OwnerReference, parseApiVersion } from '@tidegate/kube';
import { fieldError } from '@tidegate/serving';
import { define } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { nonNegative } from '../validation/checks.ts';
import { isEmpty, semanticallyEqual } from '../validation/equal.ts';
import { IMMUTABLE } from '../validation/names.ts';
import type { ControllerRevision } from './types.ts';

export const controllerrevisions = define<ControllerRevision>({
  group: 'apps',
  kind: 'ControllerRevision',
  plural: 'controllerrevisions',
  table: [
    nameColumn,
    {
      name: 'Controller',
      description: 'Controller of the object',
      cell: ({ metadata }) => controllerName(metadata.ownerReferences?.find((owner) => owner.controller)),
    },
    { name: 'Revision', field: 'revision', cell: ({ revision }) => revision ?? 0 },
    ageColumn,
  ],
  defaults(revision) {
    revision.revision ??= 0;
  },
  validate: ({ data, revision }) => [
    ...nonNegative('revision', revision),
    ...(isEmpty(data) ? [fieldError.required('data', 'data is mandatory')] : []),
  ],
  validateUpdate: ({ data }, old) =>
    semanticallyEqual(data, old.data) ? [] : [fieldError.invalid('data', data, IMMUTABLE)],
});

function controllerName(owner: OwnerReference | undefined): string {
  if (owner === undefined) return '<none>';
  const { group } = parseApiVersion(owner.apiVersion);
  const kind = owner.kind.toLowerCase();
  return `${group === '' ? kind : `${kind}.${group}`}/${owner.name}`;
}
