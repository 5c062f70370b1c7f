/** Objects of the API as rows of the console. Pure functions. */
import type {
  ApplicationRow,
  EditionRow,
  IngressRow,
  NodeRow,
  PodRow,
  PoolRow,
  RouterRow,
  Tristate,
} from '@tidegate/console/wire';
import {
  type Condition,
  getCondition,
  type Ingress,
  type KubeObject,
  keyOf,
  type Node,
  type Pod,
} from '@tidegate/kube';
import {
  EDGE_APPLICATION_LABEL,
  EDGE_APPLICATION_NAMESPACE_LABEL,
  EDITION_LABEL,
  type EdgeApplication,
  HUB_VERSION_ANNOTATION,
  type L7Router,
  NODE_GROUP_LABEL,
  NODE_POOL_LABEL,
  type NodeGroup,
  type NodePool,
} from '../api/index.ts';
import { classNameOf } from '../ingress/compile/index.ts';

/** Conditions of built-in kinds have optional fields that those of custom resources require. */
const conditionOf = (conditions: unknown, type: string): Partial<Condition> | undefined =>
  getCondition(conditions as Condition[] | undefined, type);

const tristate = (condition: Partial<Condition> | undefined): Tristate =>
  condition?.status === 'True' || condition?.status === 'False' ? condition.status : 'Unknown';

export function nodeRow({ metadata, status }: Node): NodeRow {
  const { labels = {}, annotations = {} } = metadata;
  const ready = conditionOf(status?.conditions, 'Ready');
  return {
    kind: 'Node',
    key: metadata.name ?? '',
    nodePool: labels[NODE_POOL_LABEL],
    nodeGroup: labels[NODE_GROUP_LABEL],
    ready: tristate(ready),
    since: ready?.lastTransitionTime,
    hub: annotations[HUB_VERSION_ANNOTATION],
    address: status?.addresses?.find(({ type }) => type === 'InternalIP')?.address,
  };
}

export const nodePoolRow = ({ metadata, spec }: NodePool): PoolRow => ({
  kind: 'NodePool',
  key: metadata.name ?? '',
  type: spec?.type,
  members: labelsText(spec?.selector?.matchLabels),
});

export const nodeGroupRow = ({ metadata, spec }: NodeGroup): PoolRow => ({
  kind: 'NodeGroup',
  key: metadata.name ?? '',
  members: labelsText(spec?.matchLabels) ?? spec?.nodes?.join(', '),
});

const labelsText = (labels: Record<string, string> | undefined): string | undefined =>
  labels &&
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');

export function routerRow({ metadata, spec, status }: L7Router): RouterRow {
  const ready = conditionOf(status?.conditions, 'Ready');
  return {
    kind: 'L7Router',
    key: metadata.name ?? '',
    ingressClass: spec.ingressClassName,
    pool: spec.pool,
    driver: spec.driver,
    ready: tristate(ready),
    message: ready?.status === 'True' ? undefined : (ready?.message ?? ready?.reason),
    addresses: (status?.addresses ?? []).flatMap(({ ip, hostname, ports = [] }) => {
      const host = ip?.includes(':') ? `[${ip}]` : (ip ?? hostname ?? '');
      return ports.length === 0 ? [host] : ports.map(({ port }) => `${host}:${port}`);
    }),
    hosts: spec.hosts,
    maxHosts: spec.capacity?.maxHosts,
    problems: status?.problemCount ?? 0,
  };
}

export function ingressRow(ingress: Ingress): IngressRow {
  const { spec, status } = ingress;
  const rules = (spec?.rules ?? []).flatMap(({ host = '', http }) =>
    (http?.paths ?? []).map(({ path = '/', pathType, backend }) => ({
      host,
      path,
      pathType,
      backend: backendText(backend),
    })),
  );
  const fallback = spec?.defaultBackend;
  return {
    kind: 'Ingress',
    key: keyOf(ingress),
    ingressClass: classNameOf(ingress),
    rules: fallback
      ? [...rules, { host: '', path: '/', pathType: 'default', backend: backendText(fallback) }]
      : rules,
    addresses: (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => ip ?? hostname ?? []),
    tls: (spec?.tls ?? []).flatMap(({ hosts = [] }) => hosts),
  };
}

type Backend = NonNullable<NonNullable<Ingress['spec']>['defaultBackend']>;

const backendText = ({ service, resource }: Backend): string =>
  service !== undefined
    ? `${service.name}:${service.port?.name ?? service.port?.number ?? ''}`
    : `${resource?.kind ?? ''} ${resource?.name ?? ''}`.trim();

export function applicationRow(application: EdgeApplication): ApplicationRow {
  const { spec, status } = application;
  const ready = conditionOf(status?.conditions, 'Ready');
  const { targetNodeGroups = [], targetNodeLabels = [] } = spec.workloadScope;
  const { rollout } = status ?? {};
  return {
    kind: 'EdgeApplication',
    key: keyOf(application as KubeObject),
    ready: tristate(ready),
    message: ready?.status === 'True' ? undefined : ready?.message,
    targets: [
      ...targetNodeGroups.map(({ name }) => name),
      ...targetNodeLabels.map(
        ({ labelSelector }) => labelsText(labelSelector?.matchLabels) ?? 'nodes by label',
      ),
    ],
    ...(rollout !== undefined && {
      rollout: {
        phase: rollout.phase,
        wave: rollout.waveName,
        message: rollout.message,
        updated: rollout.updatedSites,
        total: rollout.totalSites,
        held: (rollout.held ?? []).map(({ name }) => name),
      },
    }),
  };
}

/** The fields that Deployments, StatefulSets and DaemonSets have in common, or have one of. */
export interface Workload extends KubeObject {
  spec?: { replicas?: number; template?: { spec?: { containers?: { image?: string }[] } } };
  status?: {
    readyReplicas?: number;
    numberReady?: number;
    desiredNumberScheduled?: number;
  };
}

/** Undefined for a workload that belongs to no site. */
export function editionRow(kind: string, workload: Workload): EditionRow | undefined {
  const { metadata, spec, status } = workload;
  const { labels = {} } = metadata;
  const name = labels[EDGE_APPLICATION_LABEL];
  const site = labels[EDITION_LABEL];
  if (name === undefined || site === undefined) return undefined;
  return {
    kind: 'Edition',
    key: `${kind}/${keyOf(workload)}`,
    application: `${labels[EDGE_APPLICATION_NAMESPACE_LABEL] ?? metadata.namespace}/${name}`,
    site,
    images: (spec?.template?.spec?.containers ?? []).flatMap(({ image }) => image ?? []),
    ready: status?.readyReplicas ?? status?.numberReady ?? 0,
    wanted: status?.desiredNumberScheduled ?? spec?.replicas ?? (kind === 'DaemonSet' ? 0 : 1),
  };
}

export function podRow(pod: Pod): PodRow {
  const { metadata, spec, status } = pod;
  const containers = status?.containerStatuses ?? [];
  return {
    kind: 'Pod',
    key: keyOf(pod),
    node: spec?.nodeName,
    phase: metadata.deletionTimestamp === undefined ? (status?.phase ?? 'Unknown') : 'Terminating',
    ready: containers.filter(({ ready }) => ready).length,
    containers: spec?.containers.length ?? 0,
    restarts: containers.reduce((sum, { restartCount }) => sum + restartCount, 0),
  };
}
