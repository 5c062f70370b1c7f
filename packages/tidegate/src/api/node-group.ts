/** NodeGroup of KubeEdge: the fields of the proposal, and those of the released versions. */
import { readyColumns, reasonColumn } from './node-pool.ts';
import type { Condition, KindResource, Metadata } from './object.ts';
import {
  ageColumn,
  autonomyField,
  type CustomResourceDefinition,
  conditions,
  definition,
  flag,
  integer,
  list,
  listMap,
  nameFitsLabel,
  object,
  text,
  textMap,
  wholeObject,
} from './schema.ts';

export type NodeGroupSpec = {
  nodes?: string[];
  matchLabels?: Record<string, string>;
  topologyEnabled?: boolean;
  /** `Always`, `Never`, or a duration. KubeEdge does not have it. */
  autonomy?: string;
};

export type ReadyStatus = 'Ready' | 'NotReady' | 'Unknown';

export type NodeGroupNodeStatus = {
  nodeName: string;
  readyStatus: ReadyStatus;
  selectionStatus: 'Succeeded' | 'Failed';
  selectionStatusReason?: string;
};

export type NodeGroupStatus = {
  containedNodes?: string[];
  nodeStatuses?: NodeGroupNodeStatus[];
  readyNodeNum?: number;
  unreadyNodeNum?: number;
  conditions?: Condition[];
};

export type NodeGroup = {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec?: NodeGroupSpec;
  status?: NodeGroupStatus;
};

export const NODE_GROUPS: KindResource<NodeGroup> = {
  group: 'apps.kubeedge.io',
  version: 'v1alpha1',
  resource: 'nodegroups',
  namespaced: false,
};

const spec = object(
  'Selects the nodes of the group: by name, by label, or both.',
  {
    nodes: list(
      'Names of nodes in the group.',
      { type: 'string', minLength: 1, maxLength: 253 },
      { 'x-kubernetes-list-type': 'atomic' },
    ),
    matchLabels: textMap(
      'Labels that a node must have to be in the group. If empty, no node is selected by labels.',
    ),
    topologyEnabled: flag(
      'Set the label topology.kubernetes.io/zone to the name of the group on nodes that do not have it.',
    ),
    autonomy: autonomyField(
      'How long the pods of the group are kept while all its nodes are unreachable: Always, Never, or a duration such as 168h. The default is Always. A NodePool of the node that sets the field, and annotations of the node, take precedence.',
    ),
  },
  {
    'x-kubernetes-validations': [
      {
        rule: "!has(self.matchLabels) || !('apps.kubeedge.io/belonging-to' in self.matchLabels)",
        message:
          'the label apps.kubeedge.io/belonging-to is set by the group itself: use another label, or list the nodes in spec.nodes',
        fieldPath: '.matchLabels',
      },
    ],
  },
);

const nodeStatus = object(
  'State of a node that the group selects.',
  {
    nodeName: text('Name of the node.'),
    readyStatus: text('Whether the node is ready.', { enum: ['Ready', 'NotReady', 'Unknown'] }),
    selectionStatus: text('Succeeded if the node is in the group, Failed if not.', {
      enum: ['Succeeded', 'Failed'],
    }),
    selectionStatusReason: text('Why the node is not in the group.'),
  },
  { required: ['nodeName', 'readyStatus', 'selectionStatus'] },
);

const status = object('Most recently observed state of the group.', {
  containedNodes: list('Names of the nodes in the group.', { type: 'string' }),
  nodeStatuses: listMap(
    'State of each node that the group selects, including nodes of other groups and nodes that do not exist.',
    'nodeName',
    nodeStatus,
  ),
  readyNodeNum: integer('Number of nodes in the group that are ready.'),
  unreadyNodeNum: integer('Number of nodes in the group that are not ready.'),
  conditions: conditions(
    'Conditions of the group. Ready is True if all selected nodes are in the group and ready.',
  ),
});

const schema = wholeObject('NodeGroup is a named set of nodes at one site.', spec, status, {
  'x-kubernetes-validations': [nameFitsLabel],
});

export const nodeGroupDefinition = (): CustomResourceDefinition =>
  definition({
    group: NODE_GROUPS.group,
    kind: 'NodeGroup',
    plural: NODE_GROUPS.resource,
    shortNames: ['ng'],
    scope: 'Cluster',
    versions: ['v1alpha1'],
    schema,
    columns: [...readyColumns, reasonColumn, ageColumn],
  });
