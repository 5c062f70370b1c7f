import { type FieldError, fieldError } from '@tidegate/serving';
import { define } from '../define.ts';
import { nameColumn } from '../table.ts';
import { named } from '../validation/checks.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { canonicalAddress, INVALID_IP, isAddress } from '../validation/ip.ts';
import { IMMUTABLE, isDNS1123Subdomain, isPathSegmentName } from '../validation/names.ts';
import type { IPAddress, ParentReference } from './types.ts';

export const ipaddresses = define<IPAddress>({
  group: 'networking.k8s.io',
  kind: 'IPAddress',
  plural: 'ipaddresses',
  shortNames: ['ip'],
  namespaced: false,
  parts: ['spec'],
  name: nameIsAddress,
  table: [
    nameColumn,
    { name: 'ParentRef', field: 'spec.parentRef', cell: ({ spec }) => shownParent(spec.parentRef) },
  ],
  selectableFields: ({ metadata, spec }) => ({
    'metadata.name': metadata.name ?? '',
    'spec.parentRef.resource': spec.parentRef?.resource ?? '',
  }),
  validate: ({ spec }) => validateParent(spec.parentRef, 'spec.parentRef'),
  validateUpdate: ({ spec }, old) =>
    semanticallyEqual(spec.parentRef, old.spec.parentRef)
      ? []
      : [fieldError.invalid('spec.parentRef', internal(spec.parentRef ?? {}), IMMUTABLE)],
});

function nameIsAddress(name: string): string[] {
  if (!isAddress(name)) return [INVALID_IP];
  const canonical = canonicalAddress(name);
  return canonical === name ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`];
}

/** For example `services/default/kubernetes`. */
function shownParent(parent: ParentReference | undefined): string {
  if (parent === undefined) return '<none>';
  const { group, resource = '', namespace, name = '' } = parent;
  return [`${resource}${group ? `.${group}` : ''}`, namespace, name].filter((part) => part).join('/');
}

const internal = ({ group, resource, namespace, name }: ParentReference): object => ({
  Group: group ?? '',
  Resource: resource ?? '',
  Namespace: namespace ?? '',
  Name: name ?? '',
});

function validateParent(parent: ParentReference | undefined, path: string): FieldError[] {
  if (parent === undefined) return [fieldError.required(path)];
  const { group, resource, name, namespace } = parent;
  const segment = (field: string, value: string | undefined, isRequired: boolean): FieldError[] => {
    if (value) return named(`${path}.${field}`, value, isPathSegmentName(value));
    return isRequired ? [fieldError.required(`${path}.${field}`)] : [];
  };
  return [
    ...(group ? named(`${path}.group`, group, isDNS1123Subdomain(group)) : []),
    ...segment('resource', resource, true),
    ...segment('name', name, true),
    ...segment('namespace', namespace, false),
  ];
}
