/**
 * YurtAppSet of OpenYurt: one template, and a workload for each of its pools. Both versions have one schema with the fields of both, so
 * nothing is lost when a client reads an object in the other version. `convertYurtAppSet` turns the fields of one version into those
 * of the other.
 */
import type { LabelSelector, Metadata } from './object.ts';
import {
  ageColumn,
  anything,
  type CustomResourceDefinition,
  definition,
  integer,
  labelSelector,
  list,
  object,
  text,
  wholeObject,
} from './schema.ts';
import {
  MOST_POOLS,
  openYurtResource,
  patches,
  poolNames,
  revisionHistoryLimit,
  type WorkloadTemplate,
  workloadTemplate,
  type YurtAppStatus,
  yurtAppStatus,
} from './yurt-app-template.ts';

/** A JSON Patch operation as OpenYurt spells it. */
export type YurtPatch = { path: string; operation: 'add' | 'remove' | 'replace'; value?: unknown };

export type Tweaks = {
  replicas?: number;
  containerImages?: { name: string; targetImage: string }[];
  patches?: YurtPatch[];
};

/** v1beta1: changes for some of the pools. */
export type WorkloadTweak = { pools?: string[]; nodepoolSelector?: LabelSelector; tweaks?: Tweaks };

/** v1alpha1: a pool, and the changes for it. */
export type TopologyPool = {
  name: string;
  nodeSelectorTerm?: {
    matchExpressions?: { key: string; operator: string; values?: string[] }[];
    matchFields?: unknown[];
  };
  tolerations?: Record<string, unknown>[];
  replicas?: number;
  /** A strategic merge patch. */
  patch?: Record<string, unknown>;
};

export type YurtAppSetSpec = {
  revisionHistoryLimit?: number;
  /** v1beta1 */
  workload?: { workloadTemplate?: WorkloadTemplate; workloadTweaks?: WorkloadTweak[] };
  nodepoolSelector?: LabelSelector;
  pools?: string[];
  /** v1alpha1 */
  selector?: LabelSelector;
  workloadTemplate?: WorkloadTemplate;
  topology?: { pools?: TopologyPool[] };
};

export type YurtAppSetStatus = YurtAppStatus & {
  readyWorkloads?: number;
  updatedWorkloads?: number;
  totalWorkloads?: number;
  /** v1alpha1 */
  readyReplicas?: number;
  replicas?: number;
  poolReplicas?: Record<string, number>;
};

export type YurtAppSet = {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec?: YurtAppSetSpec;
  status?: YurtAppSetStatus;
};

export type YurtAppSetVersion = 'v1alpha1' | 'v1beta1';

export const YURT_APP_SETS = openYurtResource<YurtAppSet>('yurtappsets', 'v1beta1');

const tweak = object('Changes for some of the pools.', {
  pools: poolNames('Names of the NodePools.'),
  nodepoolSelector: labelSelector('Selects NodePools by their labels.'),
  tweaks: object('The changes.', {
    replicas: integer('Number of replicas.', { minimum: 0 }),
    containerImages: list(
      'Images of containers and init containers.',
      object(
        'The image of a container.',
        {
          name: text('Name of the container.', { minLength: 1 }),
          targetImage: text('Image of the container.', { minLength: 1 }),
        },
        { required: ['name', 'targetImage'] },
      ),
    ),
    patches: patches('{{nodepool-name}}'),
  }),
});

const topologyPool = object(
  'A pool, and the changes for it.',
  {
    name: text('Name of the NodePool.', { minLength: 1, maxLength: 63 }),
    nodeSelectorTerm: anything('Selects the nodes. Default: the nodes of the NodePool.'),
    tolerations: list('Tolerations to add to the pods.', anything('A toleration.')),
    replicas: integer('Number of replicas.', { minimum: 0 }),
    patch: anything('Strategic merge patch for the workload.'),
  },
  { required: ['name'] },
);

const spec = object('Desired workloads, and the pools to deploy them to.', {
  workload: object('v1beta1: the template, and changes for some of the pools.', {
    workloadTemplate: workloadTemplate(),
    workloadTweaks: list('Changes for some of the pools, applied in order.', tweak, { maxItems: MOST_POOLS }),
  }),
  nodepoolSelector: labelSelector('v1beta1: selects NodePools by their labels.'),
  pools: poolNames('v1beta1: names of NodePools, in addition to those that nodepoolSelector selects.'),
  selector: labelSelector('v1alpha1: selector of the workloads, if their template has none.'),
  workloadTemplate: { ...workloadTemplate(), description: 'v1alpha1: template of the workloads.' },
  topology: object('v1alpha1: the pools.', {
    pools: list('Pools, and the changes for each of them.', topologyPool, { maxItems: MOST_POOLS }),
  }),
  revisionHistoryLimit: revisionHistoryLimit(),
});

const status = object('Most recently observed state of the workloads.', {
  ...yurtAppStatus(
    'PoolFound, AppDispatched, AppDeleted, AppUpdated and AppReady; PoolProvisioned, PoolUpdated and PoolFailure of v1alpha1',
  ),
  readyWorkloads: integer('Number of workloads that are available.'),
  updatedWorkloads: integer('Number of workloads that have the current spec.'),
  totalWorkloads: integer('Number of workloads.'),
  readyReplicas: integer('v1alpha1: number of ready pods.'),
  replicas: integer('v1alpha1: number of pods.'),
  poolReplicas: {
    type: 'object',
    description: 'v1alpha1: number of pods in each pool.',
    additionalProperties: { type: 'integer', format: 'int32' },
  },
});

const schema = wholeObject(
  'YurtAppSet deploys one workload to several NodePools, with different settings for each of them.',
  spec,
  status,
);

export const yurtAppSetDefinition = (): CustomResourceDefinition =>
  definition({
    group: YURT_APP_SETS.group,
    kind: 'YurtAppSet',
    plural: YURT_APP_SETS.resource,
    shortNames: ['yas'],
    scope: 'Namespaced',
    versions: ['v1alpha1', 'v1beta1'],
    schema,
    columns: [
      {
        name: 'Total',
        type: 'integer',
        jsonPath: '.status.totalWorkloads',
        description: 'Number of workloads',
      },
      {
        name: 'Ready',
        type: 'integer',
        jsonPath: '.status.readyWorkloads',
        description: 'Number of workloads that are available',
      },
      {
        name: 'Updated',
        type: 'integer',
        jsonPath: '.status.updatedWorkloads',
        description: 'Number of workloads that have the current spec',
      },
      {
        name: 'Overrider',
        type: 'string',
        jsonPath: '.status.overriderRef',
        description: 'YurtAppOverrider that is applied',
        priority: 1,
      },
      ageColumn,
    ],
  });
