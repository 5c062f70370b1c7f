/**
 * NodePool of OpenYurt. Its three versions have different fields, but no field has two meanings. Therefore every version
 * is served with the union of all schemas and the conversion strategy None, which only changes `apiVersion`. No field is
 * ever pruned, at whichever version an object is written and read.
 */
import type { Condition, KindResource, LabelSelector, Metadata } from './object.ts';
import {
  ageColumn,
  autonomyField,
  type CustomResourceDefinition,
  conditions,
  definition,
  flag,
  integer,
  labelSelector,
  list,
  nameFitsLabel,
  object,
  type PrinterColumn,
  text,
  textMap,
  wholeObject,
} from './schema.ts';

export type NodePoolVersion = 'v1alpha1' | 'v1beta1' | 'v1beta2';

export type Taint = { key: string; value?: string; effect: string; timeAdded?: string };

export type NodePoolSpec = {
  type?: 'Edge' | 'Cloud';
  /** v1alpha1 only. */
  selector?: LabelSelector;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  taints?: Taint[];
  /** Since v1beta1. */
  hostNetwork?: boolean;
  /** This and all following fields: since v1beta2. */
  interConnectivity?: boolean;
  leaderElectionStrategy?: 'random' | 'mark';
  leaderNodeLabelSelector?: Record<string, string>;
  enableLeaderElection?: boolean;
  poolScopeMetadata?: { group?: string; version?: string; resource?: string }[];
  leaderReplicas?: number;
  /** `Always`, `Never`, or a duration. In all versions; OpenYurt does not have it. */
  autonomy?: string;
};

export type NodePoolStatus = {
  readyNodeNum?: number;
  unreadyNodeNum?: number;
  nodes?: string[];
  /** This and all following fields: since v1beta2. */
  leaderEndpoints?: { nodeName: string; address: string }[];
  leaderNum?: number;
  leaderLastElectedTime?: string;
  conditions?: Condition[];
};

export type NodePool = {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec?: NodePoolSpec;
  status?: NodePoolStatus;
};

export const NODE_POOLS: KindResource<NodePool> = {
  group: 'apps.openyurt.io',
  version: 'v1beta2',
  resource: 'nodepools',
  namespaced: false,
};

const taint = object(
  'A taint.',
  {
    key: text('Key of the taint.', { minLength: 1 }),
    value: text('Value of the taint.'),
    effect: text('Effect on pods that do not tolerate the taint.', {
      enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'],
    }),
    timeAdded: text('Time at which the taint was added.', { format: 'date-time' }),
  },
  { required: ['key', 'effect'] },
);

const spec = object(
  'Desired state of the pool and its nodes.',
  {
    type: text('Location of the nodes: Edge or Cloud. Immutable.', {
      enum: ['Edge', 'Cloud'],
      default: 'Edge',
    }),
    selector: labelSelector('Selects nodes that join the pool. If empty, no node is selected by labels.'),
    labels: textMap('Labels to set on every node of the pool.'),
    annotations: textMap('Annotations to set on every node of the pool.'),
    taints: list('Taints to set on every node of the pool.', taint),
    hostNetwork: flag('The nodes have no pod network; all pods use the host network. Immutable.'),
    interConnectivity: flag('Whether the nodes of the pool can reach each other. Immutable.'),
    leaderElectionStrategy: text(
      'How the leader hubs of the pool are chosen: randomly, or among marked nodes.',
      { enum: ['random', 'mark'] },
    ),
    leaderNodeLabelSelector: textMap(
      'Labels of the nodes that can be leaders. Required for the strategy mark.',
    ),
    enableLeaderElection: flag('Whether the pool has leader hubs.'),
    poolScopeMetadata: list(
      'Resources that the leader hubs fetch once for the whole pool.',
      object('A resource.', {
        group: text('API group of the resource.'),
        version: text('API version of the resource.'),
        resource: text('Plural name of the resource.'),
      }),
    ),
    leaderReplicas: integer('Number of leader hubs.', { minimum: 0 }),
    autonomy: autonomyField(
      'How long the pods of the pool are kept while all its nodes are unreachable: Always, Never, or a duration such as 168h. The default is Always for the type Edge, and Never for the type Cloud. Annotations of a node take precedence.',
    ),
  },
  {
    // The default has all fields that the rules below read, because rules run before nested defaults are set.
    default: { type: 'Edge' },
    'x-kubernetes-validations': [
      {
        rule: "!(self.type == 'Cloud' && has(self.hostNetwork) && self.hostNetwork)",
        message: 'hostNetwork is not allowed for the type Cloud: remove hostNetwork, or set type to Edge',
      },
      {
        rule: 'self.type == oldSelf.type',
        message: 'type is immutable: create another pool and move the nodes to it',
      },
      {
        rule: '(has(self.hostNetwork) && self.hostNetwork) == (has(oldSelf.hostNetwork) && oldSelf.hostNetwork)',
        message: 'hostNetwork is immutable: create another pool and move the nodes to it',
      },
      {
        rule: '(has(self.interConnectivity) && self.interConnectivity) == (has(oldSelf.interConnectivity) && oldSelf.interConnectivity)',
        message: 'interConnectivity is immutable: create another pool and move the nodes to it',
      },
      {
        rule: "!(has(self.leaderElectionStrategy) && self.leaderElectionStrategy == 'mark') || (has(self.leaderNodeLabelSelector) && size(self.leaderNodeLabelSelector) > 0)",
        message:
          'leaderNodeLabelSelector is required for the strategy mark: set the labels of the nodes that can be leaders',
      },
      {
        rule: "!has(self.labels) || !('apps.openyurt.io/nodepool' in self.labels || 'apps.openyurt.io/desired-nodepool' in self.labels)",
        message: 'labels must not contain the labels that assign nodes to pools: set them on the node itself',
      },
    ],
  },
);

const status = object('Most recently observed state of the pool.', {
  readyNodeNum: integer('Number of nodes in the pool that are ready.'),
  unreadyNodeNum: integer('Number of nodes in the pool that are not ready.'),
  nodes: list('Names of the nodes in the pool.', { type: 'string' }),
  leaderEndpoints: list(
    'Leader hubs of the pool.',
    object(
      'A leader hub.',
      { nodeName: text('Node of the hub.'), address: text('Address of the hub.') },
      { required: ['nodeName', 'address'] },
    ),
  ),
  leaderNum: integer('Number of leader hubs.'),
  leaderLastElectedTime: text('Time of the last leader election.', { format: 'date-time' }),
  conditions: conditions(
    'Conditions of the pool. Ready is True if all selected nodes are in the pool and ready.',
  ),
});

const schema = wholeObject('NodePool is a named set of nodes at one site.', spec, status, {
  'x-kubernetes-validations': [nameFitsLabel],
});

/** Columns about the nodes in `kubectl get np,ng`. */
export const readyColumns: readonly PrinterColumn[] = [
  {
    name: 'Ready',
    type: 'integer',
    jsonPath: '.status.readyNodeNum',
    description: 'Number of nodes that are ready',
  },
  {
    name: 'NotReady',
    type: 'integer',
    jsonPath: '.status.unreadyNodeNum',
    description: 'Number of nodes that are not ready',
  },
];

export const reasonColumn: PrinterColumn = {
  name: 'Reason',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
  description: 'Reason of the Ready condition',
  priority: 1,
};

export const nodePoolDefinition = (): CustomResourceDefinition =>
  definition({
    group: NODE_POOLS.group,
    kind: 'NodePool',
    plural: NODE_POOLS.resource,
    shortNames: ['np'],
    scope: 'Cluster',
    versions: ['v1alpha1', 'v1beta1', 'v1beta2'],
    schema,
    columns: [
      {
        name: 'Type',
        type: 'string',
        jsonPath: '.spec.type',
        description: 'Location of the nodes: Edge or Cloud',
      },
      ...readyColumns,
      reasonColumn,
      ageColumn,
    ],
  });
