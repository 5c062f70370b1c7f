/** EdgeApplication: one template of objects, and for each pool what is different there. */
import type { Condition, KindResource, LabelSelector, Metadata } from './object.ts';
import { type Overriders, overriders } from './overriders.ts';
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
  wholeObject,
} from './schema.ts';

export type TargetNodeGroup = { name: string; overriders?: Overriders };
export type TargetNodeLabels = { labelSelector?: LabelSelector; overriders?: Overriders };

export type EdgeApplicationSpec = {
  /** Not checked yet: a manifest that is none says so in the status, and hurts itself only. */
  workloadTemplate?: { manifests?: Record<string, unknown>[] };
  workloadScope: { targetNodeGroups?: TargetNodeGroup[]; targetNodeLabels?: TargetNodeLabels[] };
};

export type ResourceIdentifier = {
  ordinal: number;
  group?: string;
  version?: string;
  kind?: string;
  resource?: string;
  namespace?: string;
  name?: string;
};

export type ManifestStatus = { identifier: ResourceIdentifier; conditions?: Condition[] };

export type EdgeApplicationStatus = {
  observedGeneration?: number;
  manifestStatuses?: ManifestStatus[];
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

/** The API server wants to know how often a rule runs at most before it accepts it. */
const MOST_TARGETS = 1_000;

const spec = object(
  'What runs, and where.',
  {
    workloadTemplate: object('What runs.', {
      manifests: list('Objects as they would be given to kubectl apply.', anything('One object.')),
    }),
    workloadScope: object('Where it runs.', {
      targetNodeGroups: {
        ...list(
          'Pools that get an edition of their own.',
          object(
            'One pool.',
            {
              name: text('The NodeGroup or NodePool.', { minLength: 1, maxLength: 63 }),
              overriders: overriders(),
            },
            { required: ['name'] },
          ),
          { maxItems: MOST_TARGETS },
        ),
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
      targetNodeLabels: list(
        'Sets of nodes, chosen by their labels, that get an edition of their own.',
        object(
          'One set of nodes.',
          { labelSelector: labelSelector('The nodes.'), overriders: overriders() },
          {
            'x-kubernetes-validations': [
              {
                rule: 'has(self.labelSelector) && (has(self.labelSelector.matchLabels) || has(self.labelSelector.matchExpressions))',
                message: 'an empty labelSelector chooses no node: give matchLabels or matchExpressions',
              },
            ],
          },
        ),
        { maxItems: MOST_TARGETS },
      ),
    }),
  },
  { required: ['workloadScope'] },
);

const identifier = object(
  'Which object.',
  {
    ordinal: integer('Its place among the manifests.', { minimum: 0 }),
    group: text('Its API group.'),
    version: text('Its version.'),
    kind: text('Its kind.'),
    resource: text('The plural name of its kind.'),
    namespace: text('Its namespace.'),
    name: text('Its name.'),
  },
  { required: ['ordinal'] },
);

const status = object('What became of it.', {
  observedGeneration: { type: 'integer', format: 'int64', description: 'The generation this speaks of.' },
  manifestStatuses: list(
    'Every object that was made of the manifests.',
    object(
      'One object.',
      { identifier, conditions: conditions('Processing and Available.') },
      { required: ['identifier'] },
    ),
  ),
  conditions: conditions('Ready: whether everything is available everywhere.'),
});

export const edgeApplicationSchema = wholeObject(
  'One template of objects, and for each pool what is different there.',
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
        description: 'Everything available everywhere',
      },
      {
        name: 'Reason',
        type: 'string',
        jsonPath: `${readyCondition}.reason`,
        description: 'Why, or why not',
      },
      ageColumn,
    ],
  });
