/**
 * IngressClassParameters: what an IngressClass asks of its provisioner, as words. An IngressClass names one by
 * `spec.parameters`: with the scope Namespace in the namespace that it says, with the scope Cluster in
 * `tidegate-system`. One kind for both, which is why it has a namespace.
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
/** Of keys and values together. */
export const MOST_CLASS_PARAMETER_BYTES = 256 * 1024;

const parameters = textMap('For the provisioner of the class, who alone knows what they mean.', {
  maxProperties: MOST_CLASS_PARAMETERS,
  'x-kubernetes-validations': [
    { rule: "!('' in self)", message: 'a parameter needs a name: write it before the colon' },
  ],
});

const schema: Schema = object('What an IngressClass asks of its provisioner.', {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object' },
  parameters,
});

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
