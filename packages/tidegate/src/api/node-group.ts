/** NodeGroup, as KubeEdge has it: the fields of its proposal and those that shipped later. */
import { readyColumns, reasonColumn } from './node-pool.ts';
import type { Condition, KindResource, Metadata } from './object.ts';
import {
  ageColumn,
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
  'Which nodes the group has: those named, and those with the labels.',
  {
    nodes: list(
      'Names of nodes.',
      { type: 'string', minLength: 1, maxLength: 253 },
      { 'x-kubernetes-list-type': 'atomic' },
    ),
    matchLabels: textMap('Labels that a node must all have. Empty: no node is chosen by labels.'),
    topologyEnabled: flag('Nodes without a zone get the name of the group as theirs.'),
  },
  {
    'x-kubernetes-validations': [
      {
        rule: "!has(self.matchLabels) || !('apps.kubeedge.io/belonging-to' in self.matchLabels)",
        message:
          'belonging-to is written by the group itself: choose the nodes by another label, or name them in nodes',
        fieldPath: '.matchLabels',
      },
    ],
  },
);

const nodeStatus = object(
  'One node that the group chooses.',
  {
    nodeName: text('Its name.'),
    readyStatus: text('Whether it is ready.', { enum: ['Ready', 'NotReady', 'Unknown'] }),
    selectionStatus: text('Whether it is in the group.', { enum: ['Succeeded', 'Failed'] }),
    selectionStatusReason: text('Why it is not.'),
  },
  { required: ['nodeName', 'readyStatus', 'selectionStatus'] },
);

const status = object('What is known of the group.', {
  containedNodes: list('The names of all nodes of the group.', { type: 'string' }),
  nodeStatuses: listMap(
    'All nodes that the group chooses, also those it can not have.',
    'nodeName',
    nodeStatus,
  ),
  readyNodeNum: integer('How many nodes of the group are ready.'),
  unreadyNodeNum: integer('How many are not.'),
  conditions: conditions('Ready: whether the group has all nodes that it chooses, and they are ready.'),
});

const schema = wholeObject('A named set of nodes at one site.', spec, status, {
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
