import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { apiVersionOf, type Condition, isBeingDeleted, isConditionTrue } from '@tidegate/kube';
import {
  L7_ROUTERS,
  type L7Router,
  type L7RouterSpec,
  ROUTER_FINALIZER,
  type RouterWorkload,
  SHARED_ADDRESS_LABEL,
  SHARED_PODS_LABEL,
} from '../../api/index.ts';
import { classFamilyKey, type Family, sharedFamilyKey } from '../classes/index.ts';
import type { ClassSettings } from '../classes/settings.ts';
import { drainsOf } from './drains.ts';
import type { Allocated } from './fixed-addresses.ts';
import type { PlacedRouter, PlannedRouter } from './placement.ts';

/** The name of a router is also the value of a label. */
const MAX_NAME_LENGTH = 63;

/** `gold`, `gold-2`, `gold-3`, ... A long name is cut, with a hash of the full name to keep it unique. */
export function routerName(family: string, number: number): string {
  const suffix = number === 1 ? '' : `-${number}`;
  if (family.length + suffix.length <= MAX_NAME_LENGTH) return `${family}${suffix}`;
  const digest = createHash('sha256').update(family).digest('hex').slice(0, 8);
  const room = MAX_NAME_LENGTH - suffix.length - digest.length - 1;
  return `${family.slice(0, room).replace(/[^a-z0-9]+$/, '')}-${digest}${suffix}`;
}

/** What departs from a router, as in its spec. */
export type DepartingSpec = Pick<L7RouterSpec, 'departing' | 'departingSince' | 'departedClasses'>;

/** What departs from a router with this spec. All fields are present, for comparisons. */
export const departingIn = ({
  departing,
  departingSince,
  departedClasses,
}: DepartingSpec): Record<keyof DepartingSpec, unknown> => ({ departing, departingSince, departedClasses });

/** The L7Router to apply. The class that is listed first in the family is `spec.ingressClassName`. */
export function routerObject(
  { hosts, leaving, name, departing, departingSince, departedClasses }: PlannedRouter & DepartingSpec,
  { classNames, driver, programming, shared, name: address }: Family,
  { capacity, pool, workload: common, clients, ingressDefaults, parameters }: ClassSettings,
  allocated: Allocated & Pick<RouterWorkload, 'section'>,
): L7Router {
  const workload = { ...common, ...allocated };
  const [ingressClassName = '', ...sharedWith] = classNames;
  const spec: L7RouterSpec = {
    ingressClassName,
    ...(sharedWith.length > 0 && { sharedWith }),
    driver,
    ...(pool !== undefined && { pool }),
    capacity: { ...capacity },
    hosts: [...hosts],
    ...(leaving.length > 0 && { leaving: [...leaving] }),
    ...(departing && { departing }),
    ...(departingSince && { departingSince }),
    ...(departedClasses && { departedClasses }),
    ...(Object.keys(workload).length > 0 && { workload }),
    ...(clients && { clients }),
    ...(ingressDefaults && { ingressDefaults: { ...ingressDefaults } }),
    ...(parameters !== undefined && { parameters: { ...parameters } }),
  };
  return {
    apiVersion: apiVersionOf(L7_ROUTERS.group, L7_ROUTERS.version),
    kind: 'L7Router',
    metadata: {
      name,
      // Another program has a finalizer of its own.
      ...(programming !== 'external' && { finalizers: [ROUTER_FINALIZER] }),
      ...labelsFor(shared ? address : undefined, workload.sharedPods),
    },
    spec,
  };
}

function labelsFor(
  address: string | undefined,
  pods: string | undefined,
): { labels?: Record<string, string> } {
  if (address === undefined && pods === undefined) return {};
  return {
    labels: {
      ...(address !== undefined && { [SHARED_ADDRESS_LABEL]: address }),
      ...(pods !== undefined && { [SHARED_PODS_LABEL]: pods }),
    },
  };
}

/**
 * Key of the family that the router was created for. Undefined for a router of all hosts, which placement never
 * creates.
 */
export function placedFamilyOf({ spec, metadata }: L7Router): string | undefined {
  if (spec.hosts === undefined) return undefined;
  const shared = metadata.labels?.[SHARED_ADDRESS_LABEL];
  return shared === undefined ? classFamilyKey(spec.ingressClassName) : sharedFamilyKey(shared);
}

/**
 * Whether the router is ready and all its pods have applied the current generation. Placement waits for this before it
 * removes a host from its old router.
 */
export const isServing = ({ metadata, status }: L7Router): boolean =>
  isConditionTrue(status?.conditions as Condition[] | undefined, 'Ready') &&
  (status?.appliedGeneration ?? 0) >= (metadata.generation ?? 0);

/** All sections of the shared pods were in use when the router was written. */
export const lacksSection = ({ spec, metadata }: L7Router): boolean =>
  spec.workload?.sharedPods !== undefined &&
  spec.workload.section === undefined &&
  metadata.deletionTimestamp === undefined;

/** Changes with every change of the spec. */
export const versionOf = ({ metadata }: L7Router): string => `${metadata.uid} ${metadata.generation}`;

export const asPlaced = (router: L7Router): PlacedRouter => ({
  name: `${router.metadata.name}`,
  version: versionOf(router),
  hosts: router.spec.hosts ?? [],
  leaving: router.spec.leaving ?? [],
  drains: drainsOf(router).hosts,
  serving: isServing(router),
  deleting: isBeingDeleted(router),
});

export const isAsWritten = (router: L7Router | undefined, object: L7Router): boolean =>
  router !== undefined &&
  isDeepStrictEqual(router.spec, object.spec) &&
  router.metadata.labels?.[SHARED_PODS_LABEL] === object.metadata.labels?.[SHARED_PODS_LABEL] &&
  (object.metadata.finalizers ?? []).every((finalizer) => router.metadata.finalizers?.includes(finalizer));

/** Routers of a family in the order of their numbers: a shorter name has a smaller number. */
export const compareNames = (a: { name: string }, b: { name: string }): number =>
  a.name.length - b.name.length || (a.name < b.name ? -1 : Number(a.name !== b.name));
