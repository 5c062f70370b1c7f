import { type Authored, define } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { proposedClassConversion, proposedClassSchema } from './proposed-class.ts';
import { DEFAULT_CLASS_ANNOTATION, type IngressClass } from './types.ts';
import { validateIngressClass, validateIngressClassUpdate } from './validate-class.ts';

const common: Omit<Authored<IngressClass>, 'group' | 'version'> = {
  kind: 'IngressClass',
  plural: 'ingressclasses',
  storage: 'networking.k8s.io/ingressclasses',
  namespaced: false,
  parts: ['spec'],
  generation: true,
  table: [
    { ...nameColumn, cell: displayName },
    {
      name: 'Controller',
      description: 'Controller that is responsible for handling this class',
      cell: ({ spec }) => spec.controller ?? '',
    },
    {
      name: 'Parameters',
      description: 'A reference to a resource with additional parameters',
      cell: parameters,
    },
    ageColumn,
  ],
  defaults({ spec }) {
    if (spec.parameters !== undefined) spec.parameters.scope ??= 'Cluster';
  },
  validate: validateIngressClass,
  validateUpdate: validateIngressClassUpdate,
};

export const ingressclasses = define<IngressClass>({
  ...common,
  group: 'networking.k8s.io',
  legacy: [
    {
      name: 'v1beta1',
      deprecationWarning:
        'networking.k8s.io/v1beta1 IngressClass is deprecated in v1.19+, unavailable in v1.22+; use networking.k8s.io/v1 IngressClass',
    },
  ],
});

/** The group of the first proposal of IngressClass. */
export const proposedIngressClasses = define<IngressClass>({
  ...common,
  group: 'network.k8s.io',
  storageGroup: 'networking.k8s.io',
  schema: proposedClassSchema,
  documentation: proposedClassSchema,
  conversion: proposedClassConversion,
});

function displayName({ metadata }: IngressClass): string {
  const isDefault = metadata.annotations?.[DEFAULT_CLASS_ANNOTATION] === 'true';
  return `${metadata.name ?? ''}${isDefault ? ' (default)' : ''}`;
}

function parameters({ spec }: IngressClass): string {
  if (spec.parameters === undefined) return '<none>';
  const { apiGroup, kind = '', name = '' } = spec.parameters;
  return `${apiGroup === undefined ? kind : `${kind}.${apiGroup}`}/${name}`;
}
