/** EdgeApplication: a template of objects, with an edition for each target pool. */
import type { Condition, KindResource, LabelSelector, Metadata, PoolKind } from './object.ts';
import { type Overriders, overriders } from './overriders.ts';
import { type Rollout, type RolloutStatus, rollout, rolloutStatus } from './rollout.ts';
import {
  ageColumn,
  anything,
  type CustomResourceDefinition,
  conditions,
  definition,
  integer,
  labelSelector,
  list,
  object,
  text,
  textMap,
  wholeObject,
} from './schema.ts';

export type TargetNodeGroup = {
  name: string;
  kind?: PoolKind;
  overriders?: Overriders;
  /** Names of existing workloads, by the name in the template. */
  workloadNames?: Record<string, string>;
};
export type TargetNodeLabels = { labelSelector?: LabelSelector; overriders?: Overriders };

export type EdgeApplicationSpec = {
  /** Not validated by the schema. An invalid manifest is reported in the status and does not affect the others. */
  workloadTemplate?: { manifests?: Record<string, unknown>[] };
  workloadScope: { targetNodeGroups?: TargetNodeGroup[]; targetNodeLabels?: TargetNodeLabels[] };
  rollout?: Rollout;
  driftPolicy?: DriftPolicy;
};

/** What happens to fields that other clients add to the objects. */
export type DriftPolicy = 'Ignore' | 'Report' | 'Revert';

export type ResourceIdentifier = {
  ordinal: number;
  group?: string;
  version?: string;
  kind?: string;
  resource?: string;
  namespace?: string;
  name?: string;
  /** Of the object that the application created. Absent if another client created it. */
  uid?: string;
};

/** A field that another client added to an object. */
export type DriftedField = { field: string; manager: string };

export type ManifestStatus = {
  identifier: ResourceIdentifier;
  conditions?: Condition[];
  drift?: DriftedField[];
};

export type WorkloadStatus = {
  identifier: ResourceIdentifier;
  conditions?: 'Processing' | 'Available';
};

export type EdgeApplicationStatus = {
  observedGeneration?: number;
  manifestStatuses?: ManifestStatus[];
  /** As the releases of KubeEdge have it. */
  workloadStatus?: WorkloadStatus[];
  rollout?: RolloutStatus;
  conditions?: Condition[];
};

export type EdgeApplication = {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec: EdgeApplicationSpec;
  status?: EdgeApplicationStatus;
};

export const EDGE_APPLICATIONS: KindResource<EdgeApplication> = {
  group: 'apps.kubeedge.io',
  version: 'v1alpha1',
  resource: 'edgeapplications',
  namespaced: true,
};

/** The API server limits the cost of CEL rules, so lists with rules must have a maximum length. */
const MOST_TARGETS = 1_000;

const spec = object(
  'Desired objects and the pools to deploy them to.',
  {
    workloadTemplate: object('Template of the objects.', {
      manifests: list(
        'Objects to create, as in a manifest for kubectl apply. Workloads are created once for each target pool, with the overriders of the pool; other objects are created once.',
        anything('A Kubernetes object.'),
      ),
    }),
    workloadScope: object('Target pools and the changes for each of them.', {
      targetNodeGroups: {
        ...list(
          'Pools to deploy to, by name. Each pool gets an edition of its own.',
          object(
            'A target pool.',
            {
              name: text('Name of the NodeGroup or NodePool.', { minLength: 1, maxLength: 63 }),
              kind: text(
                'Kind of the pool. Default: the kind that has a pool with this name; if both have one, that of the older pool.',
                { enum: ['NodeGroup', 'NodePool'] },
              ),
              overriders: overriders(),
              workloadNames: textMap(
                'Names of the workloads of this pool, by their name in the template. Default: the name in the template, and the pool. Used to take over workloads with other names.',
              ),
            },
            { required: ['name'] },
          ),
          { maxItems: MOST_TARGETS },
        ),
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
      targetNodeLabels: list(
        'Sets of nodes to deploy to, by label selector. Each set gets an edition of its own.',
        object(
          'A set of nodes.',
          { labelSelector: labelSelector('Selects the nodes. Must not be empty.'), overriders: overriders() },
          {
            'x-kubernetes-validations': [
              {
                rule: 'has(self.labelSelector) && (has(self.labelSelector.matchLabels) || has(self.labelSelector.matchExpressions))',
                message: 'an empty labelSelector selects no nodes: set matchLabels or matchExpressions',
              },
            ],
          },
        ),
        { maxItems: MOST_TARGETS },
      ),
    }),
    rollout: rollout(),
    driftPolicy: text(
      'What happens to fields that other clients add to the objects, for example with kubectl set env. Ignore: they stay. Report: they stay and are reported in the status and as events. Revert: they are removed. Changed values of fields in the manifests are always restored. Default: Ignore.',
      { enum: ['Ignore', 'Report', 'Revert'] },
    ),
  },
  { required: ['workloadScope'] },
);

const identity = {
  ordinal: integer('Index of the manifest in spec.workloadTemplate.manifests.', { minimum: 0 }),
  group: text('API group of the object.'),
  version: text('API version of the object.'),
  kind: text('Kind of the object.'),
  resource: text('Plural resource name of the kind.'),
  namespace: text('Namespace of the object. Empty for cluster-scoped objects.'),
  name: text('Name of the object.'),
};

const identifier = object(
  'Identifies an object of the application.',
  {
    ...identity,
    uid: text(
      'UID of the object that the application created. Only this object is deleted with the application. Absent if the object existed before.',
    ),
  },
  { required: ['ordinal'] },
);

const status = object('Most recently observed state of the application.', {
  observedGeneration: {
    type: 'integer',
    format: 'int64',
    description: 'Generation of the spec that the status was computed from.',
  },
  manifestStatuses: list(
    'State of each object that was created from the manifests.',
    object(
      'State of one object.',
      {
        identifier,
        conditions: conditions('Conditions of the object: Processing and Available.'),
        drift: list(
          'Fields that other clients added to the object, at most 10. Only with the driftPolicy Report, or if a field cannot be removed.',
          object(
            'An added field.',
            {
              field: text('Path of the field in the object.'),
              manager: text('Field manager that added it, as in metadata.managedFields.'),
            },
            { required: ['field', 'manager'] },
          ),
        ),
      },
      { required: ['identifier'] },
    ),
  ),
  workloadStatus: list(
    'State of each object in the form of the releases of KubeEdge, for their clients.',
    object(
      'State of one object.',
      {
        identifier: object('Identifies an object of the application.', identity),
        conditions: text('Whether the object is available.', { enum: ['Processing', 'Available'] }),
      },
      { required: ['identifier'] },
    ),
  ),
  rollout: rolloutStatus(),
  conditions: conditions(
    'Conditions of the application. Ready is True if all objects are available in all target pools. Drifted is True if other clients added fields to objects; it is present unless the driftPolicy is Ignore.',
  ),
});

export const edgeApplicationSchema = wholeObject(
  'EdgeApplication deploys a template of objects to several pools, with different settings for each pool.',
  spec,
  status,
  { required: ['spec'] },
);

const readyCondition = '.status.conditions[?(@.type=="Ready")]';

export const edgeApplicationDefinition = (): CustomResourceDefinition =>
  definition({
    group: EDGE_APPLICATIONS.group,
    kind: 'EdgeApplication',
    plural: EDGE_APPLICATIONS.resource,
    shortNames: ['eapp'],
    scope: 'Namespaced',
    versions: ['v1alpha1'],
    schema: edgeApplicationSchema,
    columns: [
      {
        name: 'Ready',
        type: 'string',
        jsonPath: `${readyCondition}.status`,
        description: 'True if all objects are available in all target pools',
      },
      {
        name: 'Reason',
        type: 'string',
        jsonPath: `${readyCondition}.reason`,
        description: 'Reason of the Ready condition',
      },
      ageColumn,
    ],
  });
