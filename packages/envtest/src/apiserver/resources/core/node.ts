import { define, statusOf } from '../define.ts';
import type { BuiltinHooks } from '../hooks.ts';
import { canonicalResources } from '../pod/defaults.ts';
import { ageColumn, nameColumn } from '../table.ts';
import type { ResourceDefinition } from '../types.ts';
import type { Node } from './types.ts';
import { validateNode, validateNodeUpdate } from './validate-node.ts';

const NOT_READY = 'node.kubernetes.io/not-ready';
const ROLE_PREFIX = 'node-role.kubernetes.io/';

const EMPTY_INFO = {
  machineID: '',
  systemUUID: '',
  bootID: '',
  kernelVersion: '',
  osImage: '',
  containerRuntimeVersion: '',
  kubeletVersion: '',
  kubeProxyVersion: '',
  operatingSystem: '',
  architecture: '',
};

export const nodes = (hooks: BuiltinHooks): ResourceDefinition =>
  define<Node>({
    kind: 'Node',
    plural: 'nodes',
    namespaced: false,
    shortNames: ['no'],
    parts: ['spec', 'status'],
    subresources: {
      ...statusOf('', 'v1', 'Node'),
      proxy: {
        group: '',
        version: 'v1',
        kind: 'NodeProxyOptions',
        verbs: ['get'],
        connect: hooks.kubelets.proxy,
      },
    },
    table: [
      nameColumn,
      { name: 'Status', description: 'The status of the node', cell: nodeStatus },
      { name: 'Roles', description: 'The roles of the node', cell: roles },
      ageColumn,
      {
        name: 'Version',
        field: 'status.nodeInfo.kubeletVersion',
        cell: ({ status }) => status.nodeInfo?.kubeletVersion ?? '',
      },
      {
        name: 'Internal-IP',
        wide: true,
        field: 'status.addresses',
        cell: (node) => address(node, 'InternalIP'),
      },
      {
        name: 'External-IP',
        wide: true,
        field: 'status.addresses',
        cell: (node) => address(node, 'ExternalIP'),
      },
      {
        name: 'OS-Image',
        wide: true,
        field: 'status.nodeInfo.osImage',
        cell: ({ status }) => status.nodeInfo?.osImage || '<unknown>',
      },
      { name: 'Kernel-Version', wide: true, field: 'status.nodeInfo.kernelVersion', cell: kernel },
      {
        name: 'Container-Runtime',
        wide: true,
        field: 'status.nodeInfo.containerRuntimeVersion',
        cell: ({ status }) => status.nodeInfo?.containerRuntimeVersion || '<unknown>',
      },
    ],
    selectableFields: ({ spec }) => ({ 'spec.unschedulable': String(spec.unschedulable ?? false) }),
    defaults({ spec, status }) {
      if (status.capacity !== undefined) canonicalResources(status.capacity);
      if (status.allocatable === undefined && status.capacity !== undefined) {
        status.allocatable = { ...status.capacity };
      }
      if (status.allocatable !== undefined) canonicalResources(status.allocatable);
      status.daemonEndpoints ??= {};
      status.daemonEndpoints.kubeletEndpoint ??= { Port: 0 };
      status.nodeInfo = { ...EMPTY_INFO, ...status.nodeInfo };
      if (spec.podCIDR && spec.podCIDRs === undefined) spec.podCIDRs = [spec.podCIDR];
    },
    prepareForCreate({ spec }) {
      // New nodes are tainted until a controller has seen them ready, as the admission plugin TaintNodesByCondition
      // does.
      const tainted = (spec.taints ?? []).some(
        ({ key, effect }) => key === NOT_READY && effect === 'NoSchedule',
      );
      if (!tainted) spec.taints = [...(spec.taints ?? []), { key: NOT_READY, effect: 'NoSchedule' }];
    },
    validate: validateNode,
    validateUpdate: validateNodeUpdate,
  });

function nodeStatus({ spec, status }: Node): string {
  const ready = (status.conditions ?? []).find((condition) => condition.type === 'Ready');
  const word = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return spec.unschedulable === true ? `${word},SchedulingDisabled` : word;
}

function roles({ metadata }: Node): string {
  const found = new Set<string>();
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    if (key.startsWith(ROLE_PREFIX) && key !== ROLE_PREFIX) found.add(key.slice(ROLE_PREFIX.length));
    if (key === 'kubernetes.io/role' && value !== '') found.add(value);
  }
  return found.size === 0 ? '<none>' : [...found].sort().join(',');
}

const address = ({ status }: Node, type: string): string =>
  (status.addresses ?? []).find((candidate) => candidate.type === type)?.address ?? '<none>';

function kernel({ status }: Node): string {
  const { kernelVersion, architecture } = status.nodeInfo ?? {};
  return `${kernelVersion || '<unknown>'}${architecture ? ` (${architecture})` : ''}`;
}
