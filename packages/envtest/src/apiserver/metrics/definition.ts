import { type KubeObject, ownField } from '@tidegate/kube';
import type { Pod } from '../resources/pod/types.ts';
import { ageColumn, nameColumn, tablePrinter } from '../resources/table.ts';
import { timestamp } from '../resources/timestamp.ts';
import type { Compute, ResourceDefinition } from '../resources/types.ts';
import { nameIsSubdomain } from '../resources/validation/names.ts';
import type { Schema } from '../schema/types.ts';
import { decodeStored } from '../served/codec.ts';
import type { Store } from '../store/types.ts';
import { added, divided, type FindOwner, shownUsage, type Usage, usageOfPods } from './usage.ts';

const GROUP = 'metrics.k8s.io';
const VERSION = 'v1beta1';
/** The period over which metrics-server would have measured. */
const WINDOW = '15s';
/** Where the workloads are that can own pods. */
const WORKLOADS: Readonly<Record<string, string>> = {
  Deployment: 'apps/deployments',
  ReplicaSet: 'apps/replicasets',
  StatefulSet: 'apps/statefulsets',
  DaemonSet: 'apps/daemonsets',
  ReplicationController: 'replicationcontrollers',
  Job: 'batch/jobs',
};

const AMOUNTS: Schema = { type: 'object', additionalProperties: { type: 'string' } };
const COMMON = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object' },
  timestamp: { type: 'string', format: 'date-time' },
  window: { type: 'string' },
} satisfies Record<string, Schema>;

export const metrics: ResourceDefinition[] = [
  virtual('PodMetrics', 'pods', true, podMetrics, {
    ...COMMON,
    containers: {
      type: 'array',
      items: { type: 'object', properties: { name: { type: 'string' }, usage: AMOUNTS } },
    },
  }),
  virtual('NodeMetrics', 'nodes', false, nodeMetrics, { ...COMMON, usage: AMOUNTS }),
];

/** A resource whose objects are computed for each request. */
function virtual(
  kind: string,
  plural: string,
  namespaced: boolean,
  compute: Compute,
  properties: Record<string, Schema>,
): ResourceDefinition {
  const schema: Schema = { type: 'object', properties };
  const table = [
    { ...nameColumn, description: 'Name of the object that is measured.' },
    { ...ageColumn, description: 'Time since the measurement.' },
  ];
  return {
    group: GROUP,
    plural,
    singular: '',
    kind,
    listKind: `${kind}List`,
    namespaced,
    shortNames: [],
    categories: [],
    storage: `${GROUP}/${plural}`,
    storageVersion: VERSION,
    versions: [{ name: VERSION, schema, printer: tablePrinter(table, () => schema) }],
    verbs: ['get', 'list'],
    subresources: {},
    checkName: nameIsSubdomain,
    generation: false,
    custom: true,
    strategy: {},
    compute,
  };
}

function usages(store: Store, namespace: string | undefined): Map<KubeObject, Usage> {
  const find: FindOwner = (kind, at, name) => {
    const resource = ownField(WORKLOADS, kind);
    const entry = resource && store.get({ resource, namespace: at, name });
    return entry ? decodeStored(entry) : undefined;
  };
  return usageOfPods(store.list('pods', { namespace }).entries.map(decodeStored), find);
}

const measured = (
  kind: string,
  { name, namespace, labels }: KubeObject['metadata'],
  now: Date,
): KubeObject => ({
  kind,
  apiVersion: `${GROUP}/${VERSION}`,
  metadata: {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(labels && { labels }),
    creationTimestamp: timestamp(now),
  },
  timestamp: timestamp(now),
  window: WINDOW,
});

/** The containers of a pod share its usage evenly. */
function podMetrics(store: Store, namespace: string | undefined, now: Date): KubeObject[] {
  return [...usages(store, namespace)].map(([pod, usage]) => {
    const { containers = [] } = (pod as unknown as Pod).spec;
    const share = shownUsage(divided(usage, BigInt(Math.max(1, containers.length))));
    return {
      ...measured('PodMetrics', pod.metadata, now),
      containers: containers.map(({ name }) => ({ name, usage: share })),
    };
  });
}

function nodeMetrics(store: Store, _: string | undefined, now: Date): KubeObject[] {
  const byNode = new Map<string, Usage>();
  for (const [pod, usage] of usages(store, undefined)) {
    const name = (pod as unknown as Pod).spec.nodeName ?? '';
    byNode.set(name, added(byNode.get(name) ?? { cpu: 0n, memory: 0n }, usage));
  }
  return store.list('nodes').entries.map((entry) => {
    const { metadata } = decodeStored(entry);
    const usage = byNode.get(metadata.name ?? '') ?? { cpu: 0n, memory: 0n };
    return { ...measured('NodeMetrics', metadata, now), usage: shownUsage(usage) };
  });
}
