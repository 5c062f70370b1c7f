/** Objects of the API as rows of the console. Pure functions. */
import type { NodeRow, PoolRow, RouterRow, Tristate } from '@tidegate/console/wire';
import { type Condition, getCondition, type Node } from '@tidegate/kube';
import {
  HUB_VERSION_ANNOTATION,
  type L7Router,
  NODE_GROUP_LABEL,
  NODE_POOL_LABEL,
  type NodeGroup,
  type NodePool,
} from '../api/index.ts';

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
