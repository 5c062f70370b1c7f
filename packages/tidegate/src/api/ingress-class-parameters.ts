/**
 * IngressClassParameters: parameters of an IngressClass for its provisioner. An IngressClass refers to one in
 * `spec.parameters`. With the scope Namespace, it is in the namespace of the reference; with the scope Cluster, it is in
 * `tidegate-system`. The kind is namespaced, so that one kind serves both scopes.
 */
import type { KindResource, Metadata } from './object.ts';
import {
  ageColumn,
  type CustomResourceDefinition,
  definition,
  object,
  type Schema,
  textMap,
} from './schema.ts';

export type IngressClassParameters = {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  parameters?: Record<string, string>;
};

export const INGRESS_CLASS_PARAMETERS: KindResource<IngressClassParameters> = {
  group: 'networking.tidegate.io',
  version: 'v1alpha1',
  resource: 'ingressclassparameters',
  namespaced: true,
};

export const MOST_CLASS_PARAMETERS = 512;
/** Total size of all keys and values. */
export const MOST_CLASS_PARAMETER_BYTES = 256 * 1024;

const parameters = textMap(
  'Parameters for the provisioner of the class, which defines their names and values. At most 256 KiB in total.',
  {
    maxProperties: MOST_CLASS_PARAMETERS,
    'x-kubernetes-validations': [{ rule: "!('' in self)", message: 'a parameter name must not be empty' }],
  },
);

const schema: Schema = object(
  'IngressClassParameters holds the parameters of an IngressClass for its provisioner.',
  {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { type: 'object' },
    parameters,
  },
);

export const ingressClassParametersDefinition = (): CustomResourceDefinition =>
  definition({
    group: INGRESS_CLASS_PARAMETERS.group,
    kind: 'IngressClassParameters',
    plural: INGRESS_CLASS_PARAMETERS.resource,
    shortNames: ['icp'],
    scope: 'Namespaced',
    versions: ['v1alpha1'],
    schema,
    columns: [ageColumn],
  });
