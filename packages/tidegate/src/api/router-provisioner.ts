/**
 * RouterProvisioner: declares a provisioner that is not part of Tidegate. Classes with its controller name get L7Routers,
 * within its limits. A program of the provisioner reads their spec and writes their status. It is cluster-scoped, so that
 * only administrators of the cluster can declare one.
 */
import type { KindResource, Metadata } from './object.ts';
import {
  ageColumn,
  type CustomResourceDefinition,
  definition,
  flag,
  integer,
  list,
  listMap,
  object,
  type Schema,
  text,
  wholeObject,
} from './schema.ts';

export type RouterLimits = {
  hosts?: number;
  rules?: number;
  certificates?: number;
  upstreams?: number;
  bytes?: number;
};

export type DeclaredParameter = {
  name: string;
  description?: string;
  type?: 'string' | 'integer' | 'boolean';
  list?: boolean;
  format?: 'ip' | 'name' | 'uuid' | 'duration' | 'url';
  enum?: string[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  required?: boolean;
  byTenants?: boolean;
};

export type RouterProvisionerSpec = {
  controller: string;
  aliases?: string[];
  limits?: RouterLimits;
  capabilities?: string[];
  parameters?: DeclaredParameter[];
  /** Default: `Report`. */
  unknownParameters?: 'Accept' | 'Report' | 'Reject';
};

export type RouterProvisioner = {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec: RouterProvisionerSpec;
};

export const ROUTER_PROVISIONERS: KindResource<RouterProvisioner> = {
  group: 'networking.tidegate.io',
  version: 'v1alpha1',
  resource: 'routerprovisioners',
  namespaced: false,
};

/** As `spec.controller` of an IngressClass. */
const CONTROLLER = '^[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9/._~-]+$';
const controllerName = (description: string): Schema =>
  text(description, { minLength: 3, maxLength: 250, pattern: CONTROLLER });
const limit = (description: string): Schema => integer(description, { minimum: 1 });

const limits = object('What one load balancer can hold. An absent field means unlimited.', {
  hosts: limit('Maximum number of hosts.'),
  rules: limit('Maximum number of paths and default backends.'),
  certificates: limit('Maximum number of hosts with a certificate.'),
  upstreams: limit('Maximum number of different backends.'),
  bytes: limit('Maximum size of the names of hosts, paths and backends.'),
});

const parameter = object(
  'A parameter of classes with this provisioner.',
  {
    name: text('Key of the parameter.', { minLength: 1, maxLength: 253 }),
    description: text('What the parameter is for.', { maxLength: 1_024 }),
    type: text('What the text stands for. Default: string.', { enum: ['string', 'integer', 'boolean'] }),
    list: flag('Whether the value is a comma-separated list.'),
    format: text('Format of a string.', { enum: ['ip', 'name', 'uuid', 'duration', 'url'] }),
    enum: list('The allowed values.', { type: 'string', maxLength: 253 }, { maxItems: 100 }),
    minimum: integer('Smallest integer.'),
    maximum: integer('Largest integer.'),
    maxLength: integer('Largest number of characters of a string.', { minimum: 1 }),
    required: flag('Whether a class must set the parameter.'),
    byTenants: flag('Whether parameters outside of the namespace of Tidegate can set it.'),
  },
  { required: ['name'] },
);

const spec = object(
  'The provisioner.',
  {
    controller: controllerName('Value of spec.controller of its IngressClasses, for example example.com/f5.'),
    aliases: list(
      'Other values of spec.controller with the same meaning.',
      controllerName('A controller name.'),
      {
        maxItems: 10,
        'x-kubernetes-list-type': 'atomic',
      },
    ),
    limits,
    capabilities: list(
      'What its load balancers can do, for example tls and sslRedirect. A host that needs more is not placed on a router. Default: nothing but routing by host and path.',
      { type: 'string', minLength: 1, maxLength: 63 },
      { maxItems: 100, 'x-kubernetes-list-type': 'atomic' },
    ),
    parameters: {
      ...listMap('Parameters of its classes, besides those of all classes.', 'name', parameter),
      maxItems: 512,
    },
    unknownParameters: text(
      'Parameters that are not listed. Accept: passed on. Report: passed on, with an event. Reject: the class is not provisioned. Default: Report.',
      { enum: ['Accept', 'Report', 'Reject'] },
    ),
  },
  {
    required: ['controller'],
    'x-kubernetes-validations': [
      {
        rule: "!self.controller.startsWith('tidegate.io/') && !self.controller.startsWith('kubernetes.io/')",
        message: 'controller must not start with tidegate.io/ or kubernetes.io/: use a domain of your own',
        fieldPath: '.controller',
      },
    ],
  },
);

export const routerProvisionerDefinition = (): CustomResourceDefinition =>
  definition({
    group: ROUTER_PROVISIONERS.group,
    kind: 'RouterProvisioner',
    plural: ROUTER_PROVISIONERS.resource,
    shortNames: ['rp'],
    scope: 'Cluster',
    versions: ['v1alpha1'],
    schema: wholeObject(
      'RouterProvisioner declares a provisioner of load balancers that is not part of Tidegate.',
      spec,
      undefined,
      { required: ['spec'] },
    ),
    columns: [
      {
        name: 'Controller',
        type: 'string',
        jsonPath: '.spec.controller',
        description: 'Controller name of its IngressClasses',
      },
      ageColumn,
    ],
  });
