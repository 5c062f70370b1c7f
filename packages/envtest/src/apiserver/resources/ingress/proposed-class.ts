/**
 * IngressClass in `network.k8s.io/v1`, the first proposal of the kind: with a provisioner and its parameters at the top.
 * Its manifests apply unchanged. An object is stored as `networking.k8s.io/v1`: the provisioner is its controller, and an
 * annotation has the parameters, because that version can only refer to another object.
 */
import type { KubeObject } from '@tidegate/kube';
import type { Schema } from '../../schema/types.ts';
import type { IngressClass } from './types.ts';

/** The parameters as JSON. */
const PARAMETERS_ANNOTATION = 'network.k8s.io/parameters';

/** Names without a domain belong to this one. */
const DEFAULT_DOMAIN = 'kubernetes.io';

export const proposedClassSchema = (): Schema => ({
  description: 'IngressClass describes a class of load balancers. Stored as networking.k8s.io/v1.',
  type: 'object',
  required: ['provisioner'],
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    provisioner: {
      type: 'string',
      minLength: 1,
      description: 'The program that creates load balancers of this class, for example kubernetes.io/nginx.',
    },
    parameters: {
      type: 'object',
      description: 'Parameters for the provisioner.',
      additionalProperties: { type: 'string' },
      maxProperties: 512,
    },
  },
});

export const proposedClassConversion = {
  toStorage(object: KubeObject): KubeObject {
    const { provisioner, parameters, metadata, ...rest } = object as KubeObject & {
      provisioner?: string;
      parameters?: Record<string, string>;
    };
    const { [PARAMETERS_ANNOTATION]: _, ...others } = metadata.annotations ?? {};
    const hasParameters = parameters !== undefined && Object.keys(parameters).length > 0;
    const annotations = {
      ...others,
      ...(hasParameters && { [PARAMETERS_ANNOTATION]: JSON.stringify(parameters) }),
    };
    return {
      ...rest,
      apiVersion: 'networking.k8s.io/v1',
      metadata: withAnnotations(metadata, annotations),
      spec: { controller: withDomain(provisioner ?? '') },
    };
  },

  fromStorage(object: KubeObject): KubeObject {
    const { spec, metadata, ...rest } = object as IngressClass;
    const { [PARAMETERS_ANNOTATION]: text, ...annotations } = metadata.annotations ?? {};
    const parameters = text === undefined ? undefined : parametersOf(text);
    return {
      ...rest,
      apiVersion: 'network.k8s.io/v1',
      metadata: withAnnotations(metadata, annotations),
      provisioner: spec.controller ?? '',
      ...(parameters !== undefined && { parameters }),
    };
  },
};

function withAnnotations(
  { annotations: _, ...metadata }: KubeObject['metadata'],
  annotations: Record<string, string>,
): KubeObject['metadata'] {
  return Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations };
}

const withDomain = (name: string): string =>
  name === '' || name.includes('/') ? name : `${DEFAULT_DOMAIN}/${name}`;

/** Undefined if another client has written something else to the annotation. */
function parametersOf(text: string): Record<string, string> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isMap ? (value as Record<string, string>) : undefined;
  } catch {
    return undefined;
  }
}
