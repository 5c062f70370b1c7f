import {
  hasFinalizer,
  type IngressClass,
  isBeingDeleted,
  type KubeObject,
  type Namespace,
  parseApiVersion,
} from '@tidegate/kube';
import {
  type L7Router,
  YURT_INGRESS_FINALIZER,
  YURT_INGRESS_LABEL,
  YURT_INGRESSES,
  type YurtIngress,
} from '../api/index.ts';

/** Everything that decides about the front door of one pool. */
export interface Observed {
  readonly pool: string;
  /** Whether a NodePool or NodeGroup with this name exists. */
  readonly exists: boolean;
  /** The number of nodes in the pool. */
  readonly nodes: number;
  /** The YurtIngresses that claim the pool, in any order. */
  readonly claimants: readonly YurtIngress[];
  /** The L7Router with the name of the pool, also if it is not part of a front door. */
  readonly router: L7Router | undefined;
  /** The IngressClass with the name of the pool, also if it is not part of a front door. */
  readonly ingressClass: IngressClass | undefined;
  /** The namespace of the routers. */
  readonly namespace: Namespace | undefined;
}

/**
 * A YurtIngress claims its pools only while it has our finalizer and is not being deleted. Without the finalizer, nothing
 * would clean up the objects that are created for it.
 */
export const isClaimant = (object: YurtIngress): boolean =>
  !isBeingDeleted(object) && hasFinalizer(object, YURT_INGRESS_FINALIZER);

/**
 * The name of the YurtIngress that an object was created for; undefined if it is not part of a front door. If the label
 * was removed, the owner reference counts.
 */
export const holderOf = ({ metadata }: KubeObject): string | undefined =>
  metadata.labels?.[YURT_INGRESS_LABEL] ?? metadata.ownerReferences?.find(isYurtIngress)?.name;

export const isYurtIngress = ({ apiVersion, kind }: { apiVersion: string; kind: string }): boolean =>
  kind === 'YurtIngress' && parseApiVersion(apiVersion).group === YURT_INGRESSES.group;

/** The YurtIngress that owns the front door: the current holder if it still claims the pool, otherwise the oldest claimant. */
export function ownerOf({ claimants, router, ingressClass }: Observed): YurtIngress | undefined {
  const holder = [router, ingressClass].map((object) => object && holderOf(object)).find(Boolean);
  return claimants.find(({ metadata }) => metadata.name === holder) ?? claimants.toSorted(byAge)[0];
}

/** Timestamps have a resolution of one second. Names break ties. */
const byAge = (a: YurtIngress, b: YurtIngress): number =>
  compare(`${a.metadata.creationTimestamp}`, `${b.metadata.creationTimestamp}`) ||
  compare(`${a.metadata.name}`, `${b.metadata.name}`);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * An L7Router or IngressClass with the name of the pool that is not part of a front door. It is never changed, and the
 * pool gets no front door while it exists.
 */
export const conflictingObject = ({ router, ingressClass }: Observed): L7Router | IngressClass | undefined =>
  [ingressClass, router].find((object) => object !== undefined && holderOf(object) === undefined);
