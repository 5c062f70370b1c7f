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

/** All that decides about the front door of one pool. */
export interface Observed {
  readonly pool: string;
  readonly exists: boolean;
  /** How many nodes are in it. */
  readonly nodes: number;
  /** Who wants a front door for it; in any order. */
  readonly claimants: readonly YurtIngress[];
  /** What bears the name of the pool, whoever made it. */
  readonly router: L7Router | undefined;
  readonly ingressClass: IngressClass | undefined;
  /** That the routers are to be in. */
  readonly namespace: Namespace | undefined;
}

/** Who is on the way out claims nothing. Nor does who has no finalizer yet: what is made must be cleaned up some day. */
export const isClaimant = (object: YurtIngress): boolean =>
  !isBeingDeleted(object) && hasFinalizer(object, YURT_INGRESS_FINALIZER);

/** The YurtIngress that an object was made for; undefined when it is none of ours. The label may have been lost. */
export const holderOf = ({ metadata }: KubeObject): string | undefined =>
  metadata.labels?.[YURT_INGRESS_LABEL] ?? metadata.ownerReferences?.find(isYurtIngress)?.name;

export const isYurtIngress = ({ apiVersion, kind }: { apiVersion: string; kind: string }): boolean =>
  kind === 'YurtIngress' && parseApiVersion(apiVersion).group === YURT_INGRESSES.group;

/** Who has the front door keeps it, as long as they want it; otherwise it goes to the oldest who does. */
export function ownerOf({ claimants, router, ingressClass }: Observed): YurtIngress | undefined {
  const holder = [router, ingressClass].map((object) => object && holderOf(object)).find(Boolean);
  return claimants.find(({ metadata }) => metadata.name === holder) ?? claimants.toSorted(byAge)[0];
}

/** Of two made in the same second, by name. */
const byAge = (a: YurtIngress, b: YurtIngress): number =>
  compare(`${a.metadata.creationTimestamp}`, `${b.metadata.creationTimestamp}`) ||
  compare(`${a.metadata.name}`, `${b.metadata.name}`);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** An object of the pool's name that somebody else made: it is never touched, and so there is no front door. */
export const inTheWay = ({ router, ingressClass }: Observed): L7Router | IngressClass | undefined =>
  [ingressClass, router].find((object) => object !== undefined && holderOf(object) === undefined);
