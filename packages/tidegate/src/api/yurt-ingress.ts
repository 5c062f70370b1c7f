/**
 * YurtIngress of the OpenYurt proposal: a front door for each of its pools. The releases of OpenYurt spell some fields of
 * the spec differently. Both spellings are accepted; `readSpec` in `yurtingress/` defines which one takes precedence.
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
  /** Spelling of the released versions. */
  ingressIPs?: string[];
};

/** The program that runs as router. */
export type IngressControllerFlavor = 'tidegate' | 'ingress-nginx';

export type YurtIngressSpec = {
  ingress_controller_replicas_per_pool?: number;
  ingress_controller_image?: string;
  /** Not in OpenYurt, where every router is an ingress-nginx. */
  ingress_controller_flavor?: IngressControllerFlavor;
  ingress_webhook_certgen_image?: string;
  pools?: IngressPool[];
  /** This and all following fields: spelling of the released versions. */
  ingressControllerReplicasPerPool?: number;
  ingressControllerImage?: string;
  ingressWebhookCertGenImage?: string;
};

export type UnreadyType = 'Pending' | 'Failure';

export type UnreadyInfo = {
  type: UnreadyType;
  /** Time at which the type last changed. */
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
  /** In the proposal, `conditions` holds the pools. The usual conditions of other kinds are in `readiness`. */
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

/** The API server limits the cost of CEL rules, so lists with rules must have a maximum length. */
const MOST_POOLS = 1_000;
const MOST_ADDRESSES = 64;

const replicas = (): Schema =>
  integer('Number of router pods in each pool. Default: 1.', { minimum: 0, maximum: 1_000 });
const image = (description: string): Schema => text(description, { minLength: 1, maxLength: 1_024 });
const addresses = (description: string): Schema =>
  list(
    description,
    { type: 'string', minLength: 1, maxLength: 45 },
    { maxItems: MOST_ADDRESSES, 'x-kubernetes-list-type': 'atomic' },
  );
const asShipped = (field: string): string => `Alias of ${field}, as spelled in OpenYurt releases.`;

const saidOnce = (field: string, shipped: string): ValidationRule => ({
  rule: `!has(self.${field}) || !has(self.${shipped}) || self.${field} == self.${shipped}`,
  message: `${shipped} and ${field} have the same meaning but different values: set ${field} only`,
});

const pool = object(
  'A pool with a front door.',
  {
    name: text('Name of the NodePool or NodeGroup. The IngressClass of its front door has the same name.', {
      minLength: 1,
      maxLength: 63,
    }),
    ingress_ips: addresses(
      'External addresses that lead to nodes of the pool. The administrator has to allow them.',
    ),
    ingressIPs: addresses(asShipped('ingress_ips')),
  },
  { required: ['name'], 'x-kubernetes-validations': [saidOnce('ingress_ips', 'ingressIPs')] },
);

const spec = object(
  'Desired front doors.',
  {
    ingress_controller_replicas_per_pool: replicas(),
    ingress_controller_image: image(
      'Container image of the routers. The administrator has to allow it. Default: the image of the flavor.',
    ),
    ingress_controller_flavor: text(
      'Program of the routers: tidegate, or ingress-nginx, which reads all Secrets and which the administrator has to enable. Default: tidegate.',
      { enum: ['tidegate', 'ingress-nginx'] },
    ),
    ingress_webhook_certgen_image: image(
      'Ignored. The manager creates the certificates of its webhook itself.',
    ),
    ingressControllerReplicasPerPool: {
      ...replicas(),
      description: asShipped('ingress_controller_replicas_per_pool'),
    },
    ingressControllerImage: image(asShipped('ingress_controller_image')),
    ingressWebhookCertGenImage: image(asShipped('ingress_webhook_certgen_image')),
    pools: {
      ...listMap('Pools that get a front door. Each name must be unique.', 'name', pool),
      maxItems: MOST_POOLS,
    },
  },
  {
    'x-kubernetes-validations': [
      saidOnce('ingress_controller_replicas_per_pool', 'ingressControllerReplicasPerPool'),
      saidOnce('ingress_controller_image', 'ingressControllerImage'),
      saidOnce('ingress_webhook_certgen_image', 'ingressWebhookCertGenImage'),
    ],
  },
);

const unreadyPool = object('A pool whose front door is not ready.', {
  pool: object('The pool as in the spec.', {
    name: text('Name of the pool.'),
    ingress_ips: list('External addresses of the pool.', { type: 'string' }),
  }),
  unreadyinfo: object('Why the front door is not ready.', {
    type: text('Pending if the front door is being provisioned, Failure if a user has to act.', {
      enum: ['Pending', 'Failure'],
    }),
    lastTransitionTime: text('Time at which the type last changed.', { format: 'date-time' }),
    reason: text('Machine-readable reason in CamelCase.'),
    message: text('Human-readable explanation.'),
  }),
});

const status = object('Most recently observed state of the front doors.', {
  observedGeneration: {
    type: 'integer',
    format: 'int64',
    description: 'Generation of the spec that the status was computed from.',
  },
  ingress_controller_replicas_per_pool: integer('Number of router pods in each pool.'),
  ingress_controller_image: text('Container image of the routers.'),
  ingress_webhook_certgen_image: text('Value of the same field in the spec.'),
  conditions: object('State of the front doors by pool.', {
    readypools: list('Pools whose front door is ready.', { type: 'string' }),
    unreadypools: list('Pools whose front door is not ready.', unreadyPool),
  }),
  readyNum: integer('Number of pools whose front door is ready.'),
  unreadyNum: integer('Number of pools whose front door is not ready.'),
  readiness: conditions('Conditions of the YurtIngress. Ready is True if all front doors are ready.'),
});

const schema = wholeObject('YurtIngress provisions a front door in each of its pools.', spec, status, {
  'x-kubernetes-validations': [
    {
      rule: 'size(self.metadata.name) <= 63',
      message: 'metadata.name is used as a label value on front doors: use at most 63 characters',
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
        description: 'Number of router pods in each pool',
      },
      {
        name: 'ReadyNum',
        type: 'integer',
        jsonPath: '.status.readyNum',
        description: 'Number of pools whose front door is ready',
      },
      {
        name: 'UnreadyNum',
        type: 'integer',
        jsonPath: '.status.unreadyNum',
        description: 'Number of pools whose front door is not ready',
      },
      {
        name: 'Ready',
        type: 'string',
        jsonPath: '.status.readiness[?(@.type=="Ready")].status',
        description: 'True if all front doors are ready',
      },
      {
        name: 'Reason',
        type: 'string',
        jsonPath: '.status.readiness[?(@.type=="Ready")].reason',
        description: 'Reason of the Ready condition',
        priority: 1,
      },
      ageColumn,
    ],
  });
