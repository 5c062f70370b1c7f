import { createHash } from 'node:crypto';
import { apiVersionOf, type Condition, isConditionTrue } from '@tidegate/kube';
import {
  L7_ROUTERS,
  type L7Router,
  type L7RouterSpec,
  ROUTER_FINALIZER,
  SHARED_ADDRESS_LABEL,
} from '../../api/index.ts';
import { classFamilyKey, type Family, sharedFamilyKey } from '../classes/index.ts';
import type { ClassSettings } from '../classes/settings.ts';
import type { PlannedRouter } from './plan.ts';

/** What a name may have to fit into a label. */
const LONGEST_NAME = 63;

/** `gold`, `gold-2`, `gold-3`, ... */
export function routerName(family: string, number: number): string {
  const suffix = number === 1 ? '' : `-${number}`;
  if (family.length + suffix.length <= LONGEST_NAME) return `${family}${suffix}`;
  const digest = createHash('sha256').update(family).digest('hex').slice(0, 8);
  const room = LONGEST_NAME - suffix.length - digest.length - 1;
  return `${family.slice(0, room).replace(/[^a-z0-9]+$/, '')}-${digest}${suffix}`;
}

export function routerObject(
  { hosts, leaving, name }: PlannedRouter,
  { classNames, driver, shared, name: address }: Family,
  { capacity, pool, workload }: ClassSettings,
): L7Router {
  const [ingressClassName = '', ...sharedWith] = classNames;
  const spec: L7RouterSpec = {
    ingressClassName,
    ...(sharedWith.length > 0 && { sharedWith }),
    driver,
    ...(pool !== undefined && { pool }),
    capacity: { ...capacity },
    hosts: [...hosts],
    ...(leaving.length > 0 && { leaving: [...leaving] }),
    ...(Object.keys(workload).length > 0 && { workload }),
  };
  return {
    apiVersion: apiVersionOf(L7_ROUTERS.group, L7_ROUTERS.version),
    kind: 'L7Router',
    metadata: {
      name,
      finalizers: [ROUTER_FINALIZER],
      ...(shared && { labels: { [SHARED_ADDRESS_LABEL]: address } }),
    },
    spec,
  };
}

/** The family whose placement made it. Undefined for a router of all hosts: somebody else has made that. */
export function placedFamilyOf({ spec, metadata }: L7Router): string | undefined {
  if (spec.hosts === undefined) return undefined;
  const shared = metadata.labels?.[SHARED_ADDRESS_LABEL];
  return shared === undefined ? classFamilyKey(spec.ingressClassName) : sharedFamilyKey(shared);
}

/** Whether all that it has been given is served by it. */
export const isServing = ({ metadata, status }: L7Router): boolean =>
  isConditionTrue(status?.conditions as Condition[] | undefined, 'Ready') &&
  (status?.appliedGeneration ?? 0) >= (metadata.generation ?? 0);

/** Siblings in the order of their numbers. */
export const compareNames = (a: { name: string }, b: { name: string }): number =>
  a.name.length - b.name.length || (a.name < b.name ? -1 : Number(a.name !== b.name));
