/**
 * NodePool, as OpenYurt has it. Its three versions differ only in which fields they have; no field means two things.
 * So every version is served with the schema of all of them together: with the conversion strategy None, which only
 * changes `apiVersion`, nothing is ever pruned, whichever version an object is written and read at.
 */
import type { Condition, KindResource, LabelSelector, Metadata } from './object.ts';
import {
  ageColumn,
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
  /** v1alpha1. */
  selector?: LabelSelector;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  taints?: Taint[];
  /** Since v1beta1. */
  hostNetwork?: boolean;
  /** Since v1beta2, as all that follow. */
  interConnectivity?: boolean;
  leaderElectionStrategy?: 'random' | 'mark';
  leaderNodeLabelSelector?: Record<string, string>;
  enableLeaderElection?: boolean;
  poolScopeMetadata?: { group?: string; version?: string; resource?: string }[];
  leaderReplicas?: number;
};

export type NodePoolStatus = {
  readyNodeNum?: number;
  unreadyNodeNum?: number;
  nodes?: string[];
  /** Since v1beta2, as all that follow. */
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
  'One taint.',
  {
    key: text('The key of the taint.', { minLength: 1 }),
    value: text('The value of the taint.'),
    effect: text('What happens to pods that do not tolerate it.', {
      enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'],
    }),
    timeAdded: text('When it was added.', { format: 'date-time' }),
  },
  { required: ['key', 'effect'] },
);

const spec = object(
  'How the nodes of the pool shall be.',
  {
    type: text('Whether the nodes stand at the edge or in the cloud.', {
      enum: ['Edge', 'Cloud'],
      default: 'Edge',
    }),
    selector: labelSelector('Nodes that join the pool by their labels. Empty: none.'),
    labels: textMap('Labels that every node of the pool gets.'),
    annotations: textMap('Annotations that every node of the pool gets.'),
    taints: list('Taints that every node of the pool gets.', taint),
    hostNetwork: flag('No pod network on the nodes of the pool: all pods use the network of their host.'),
    interConnectivity: flag('The nodes of the pool can reach each other.'),
    leaderElectionStrategy: text('How the hub that leads the pool is chosen.', { enum: ['random', 'mark'] }),
    leaderNodeLabelSelector: textMap('For the strategy mark: the nodes that may lead.'),
    enableLeaderElection: flag('Whether a hub leads the pool.'),
    poolScopeMetadata: list(
      'Resources that are fetched once for the whole pool.',
      object('One resource.', {
        group: text('Its API group.'),
        version: text('Its version.'),
        resource: text('Its plural name.'),
      }),
    ),
    leaderReplicas: integer('How many hubs lead.', { minimum: 0 }),
  },
  {
    // In full: the rules below are run on it as it stands, before the defaults within.
    default: { type: 'Edge' },
    'x-kubernetes-validations': [
      {
        rule: "!(self.type == 'Cloud' && has(self.hostNetwork) && self.hostNetwork)",
        message: 'a Cloud pool has a pod network: remove hostNetwork, or make the type Edge',
      },
      {
        rule: 'self.type == oldSelf.type',
        message: 'the type of a pool can not change: make another pool and move the nodes there',
      },
      {
        rule: '(has(self.hostNetwork) && self.hostNetwork) == (has(oldSelf.hostNetwork) && oldSelf.hostNetwork)',
        message: 'hostNetwork can not change: make another pool and move the nodes there',
      },
      {
        rule: '(has(self.interConnectivity) && self.interConnectivity) == (has(oldSelf.interConnectivity) && oldSelf.interConnectivity)',
        message: 'interConnectivity can not change: make another pool and move the nodes there',
      },
      {
        rule: "!(has(self.leaderElectionStrategy) && self.leaderElectionStrategy == 'mark') || (has(self.leaderNodeLabelSelector) && size(self.leaderNodeLabelSelector) > 0)",
        message: 'the strategy mark needs leaderNodeLabelSelector: say by labels which nodes may lead',
      },
      {
        rule: "!has(self.labels) || !('apps.openyurt.io/nodepool' in self.labels || 'apps.openyurt.io/desired-nodepool' in self.labels)",
        message: 'labels can not decide which pool a node is in: label the node itself',
      },
    ],
  },
);

const status = object('What is known of the pool.', {
  readyNodeNum: integer('How many nodes of the pool are ready.'),
  unreadyNodeNum: integer('How many are not.'),
  nodes: list('The names of all nodes of the pool.', { type: 'string' }),
  leaderEndpoints: list(
    'The hubs that lead.',
    object(
      'One hub.',
      { nodeName: text('The node it is on.'), address: text('Its address.') },
      { required: ['nodeName', 'address'] },
    ),
  ),
  leaderNum: integer('How many hubs lead.'),
  leaderLastElectedTime: text('When they were chosen.', { format: 'date-time' }),
  conditions: conditions('Ready: whether all nodes of the pool are.'),
});

const schema = wholeObject('A named set of nodes at one site.', spec, status, {
  'x-kubernetes-validations': [nameFitsLabel],
});

/** What `kubectl get np,ng` shows of how the nodes are. */
export const readyColumns: readonly PrinterColumn[] = [
  {
    name: 'Ready',
    type: 'integer',
    jsonPath: '.status.readyNodeNum',
    description: 'How many nodes are ready',
  },
  {
    name: 'NotReady',
    type: 'integer',
    jsonPath: '.status.unreadyNodeNum',
    description: 'How many nodes are not',
  },
];

export const reasonColumn: PrinterColumn = {
  name: 'Reason',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
  description: 'Why the pool is ready, or not',
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
      { name: 'Type', type: 'string', jsonPath: '.spec.type', description: 'Edge or Cloud' },
      ...readyColumns,
      reasonColumn,
      ageColumn,
    ],
  });
