/**
 * YurtIngress, as OpenYurt's proposal has it: a front door for each of some pools. OpenYurt shipped the fields of the
 * spec in another spelling than it had proposed. Both are read; which counts is said by `readSpec` of src/yurtingress.
 */
import type { Condition, KindResource, Metadata } from './object.ts';
import {
  ageColumn,
  type CustomResourceDefinition,
  conditions,
  definition,
  integer,
  list,
  listMap,
  object,
  type Schema,
  text,
  type ValidationRule,
  wholeObject,
} from './schema.ts';

export type IngressPool = {
  name: string;
  ingress_ips?: string[];
  /** As shipped. */
  ingressIPs?: string[];
};

export type YurtIngressSpec = {
  ingress_controller_replicas_per_pool?: number;
  ingress_controller_image?: string;
  ingress_webhook_certgen_image?: string;
  pools?: IngressPool[];
  /** As shipped, as all that follow. */
  ingressControllerReplicasPerPool?: number;
  ingressControllerImage?: string;
  ingressWebhookCertGenImage?: string;
};

export type UnreadyType = 'Pending' | 'Failure';

export type UnreadyInfo = {
  type: UnreadyType;
  /** When the type changed last. */
  lastTransitionTime: string;
  reason: string;
  message: string;
};

export type UnreadyPool = { pool: { name: string; ingress_ips?: string[] }; unreadyinfo: UnreadyInfo };

export type YurtIngressStatus = {
  observedGeneration?: number;
  ingress_controller_replicas_per_pool?: number;
  ingress_controller_image?: string;
  ingress_webhook_certgen_image?: string;
  /** By this name the proposal has the pools; what other kinds have by it is `readiness` here. */
  conditions?: { readypools?: string[]; unreadypools?: UnreadyPool[] };
  readyNum?: number;
  unreadyNum?: number;
  readiness?: Condition[];
};

export type YurtIngress = {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec?: YurtIngressSpec;
  status?: YurtIngressStatus;
};

export const YURT_INGRESSES: KindResource<YurtIngress> = {
  group: 'apps.openyurt.io',
  version: 'v1alpha1',
  resource: 'yurtingresses',
  namespaced: false,
};

/** A rule that compares lists needs to know how long they can be. */
const MOST_POOLS = 1_000;
const MOST_ADDRESSES = 64;

const replicas = (): Schema =>
  integer('How many routers each pool gets. Without it, 1.', { minimum: 0, maximum: 1_000 });
const image = (description: string): Schema => text(description, { minLength: 1, maxLength: 1_024 });
const addresses = (description: string): Schema =>
  list(
    description,
    { type: 'string', minLength: 1, maxLength: 45 },
    { maxItems: MOST_ADDRESSES, 'x-kubernetes-list-type': 'atomic' },
  );
const asShipped = (field: string): string => `The same as ${field}, in OpenYurt's other spelling.`;

const saidOnce = (field: string, shipped: string): ValidationRule => ({
  rule: `!has(self.${field}) || !has(self.${shipped}) || self.${field} == self.${shipped}`,
  message: `${shipped} says something else than ${field}: they mean the same, so write ${field} only`,
});

const pool = object(
  'One pool with a front door.',
  {
    name: text('The NodePool. The IngressClass of its front door has the same name.', {
      minLength: 1,
      maxLength: 63,
    }),
    ingress_ips: addresses('Addresses from outside that lead to nodes of the pool.'),
    ingressIPs: addresses(asShipped('ingress_ips')),
  },
  { required: ['name'], 'x-kubernetes-validations': [saidOnce('ingress_ips', 'ingressIPs')] },
);

const spec = object(
  'Which pools get a front door, and of what kind.',
  {
    ingress_controller_replicas_per_pool: replicas(),
    ingress_controller_image: image("The image of the routers. Without it, Tidegate's own."),
    ingress_webhook_certgen_image: image(
      'Accepted, and not needed: the manager makes the certificates of the webhook itself.',
    ),
    ingressControllerReplicasPerPool: {
      ...replicas(),
      description: asShipped('ingress_controller_replicas_per_pool'),
    },
    ingressControllerImage: image(asShipped('ingress_controller_image')),
    ingressWebhookCertGenImage: image(asShipped('ingress_webhook_certgen_image')),
    pools: { ...listMap('The pools, each once.', 'name', pool), maxItems: MOST_POOLS },
  },
  {
    'x-kubernetes-validations': [
      saidOnce('ingress_controller_replicas_per_pool', 'ingressControllerReplicasPerPool'),
      saidOnce('ingress_controller_image', 'ingressControllerImage'),
      saidOnce('ingress_webhook_certgen_image', 'ingressWebhookCertGenImage'),
    ],
  },
);

const unreadyPool = object('One pool whose front door is not ready.', {
  pool: object('The pool.', {
    name: text('Its name.'),
    ingress_ips: list('Its addresses.', { type: 'string' }),
  }),
  unreadyinfo: object('Why it is not ready.', {
    type: text('Pending: it takes a while. Failure: somebody must do something.', {
      enum: ['Pending', 'Failure'],
    }),
    lastTransitionTime: text('When the type changed last.', { format: 'date-time' }),
    reason: text('In one CamelCase word.'),
    message: text('In a sentence.'),
  }),
});

const status = object('What became of the front doors.', {
  observedGeneration: { type: 'integer', format: 'int64', description: 'The generation this speaks of.' },
  ingress_controller_replicas_per_pool: integer('How many routers each pool gets.'),
  ingress_controller_image: text('The image of the routers.'),
  ingress_webhook_certgen_image: text('What the spec says.'),
  conditions: object('Which front doors are ready.', {
    readypools: list('Pools whose front door is ready.', { type: 'string' }),
    unreadypools: list('Pools whose front door is not.', unreadyPool),
  }),
  readyNum: integer('How many pools are ready.'),
  unreadyNum: integer('How many are not.'),
  readiness: conditions('Ready: whether all front doors are.'),
});

const schema = wholeObject('A front door for each of some pools.', spec, status, {
  'x-kubernetes-validations': [
    {
      rule: 'size(self.metadata.name) <= 63',
      message:
        'the name is written to front doors as the value of a label: choose one of at most 63 characters',
    },
  ],
});

export const yurtIngressDefinition = (): CustomResourceDefinition =>
  definition({
    group: YURT_INGRESSES.group,
    kind: 'YurtIngress',
    plural: YURT_INGRESSES.resource,
    shortNames: ['ying'],
    scope: 'Cluster',
    versions: ['v1alpha1'],
    schema,
    columns: [
      {
        name: 'Replicas-Per-Pool',
        type: 'integer',
        jsonPath: '.status.ingress_controller_replicas_per_pool',
        description: 'How many routers each pool gets',
      },
      {
        name: 'ReadyNum',
        type: 'integer',
        jsonPath: '.status.readyNum',
        description: 'How many pools have a front door that is ready',
      },
      {
        name: 'UnreadyNum',
        type: 'integer',
        jsonPath: '.status.unreadyNum',
        description: 'How many pools have one that is not',
      },
      {
        name: 'Ready',
        type: 'string',
        jsonPath: '.status.readiness[?(@.type=="Ready")].status',
        description: 'Whether all front doors are ready',
      },
      {
        name: 'Reason',
        type: 'string',
        jsonPath: '.status.readiness[?(@.type=="Ready")].reason',
        description: 'Why, or why not',
        priority: 1,
      },
      ageColumn,
    ],
  });
