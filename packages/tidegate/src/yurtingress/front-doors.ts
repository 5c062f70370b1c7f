import {
  INGRESS_CLASSES,
  type Informer,
  type IngressClass,
  NAMESPACES,
  type Namespace,
} from '@tidegate/kube';
import {
  FRONT_DOOR_NAMESPACE,
  L7_ROUTERS,
  type L7Router,
  type PoolKind,
  YURT_INGRESSES,
  type YurtIngress,
} from '../api/index.ts';
import type { Membership } from '../pools/index.ts';
import type { YurtIngressContext } from './context.ts';
import { holderOf, isClaimant, type Observed } from './observed.ts';
import { readSpec } from './read-spec.ts';

/** A YurtIngress names NodePools. NodeGroups of KubeEdge are accepted too. */
const POOL_KINDS: readonly PoolKind[] = ['NodePool', 'NodeGroup'];

const POOL_INDEX = 'yurtingress/pool';
const HOLDER_INDEX = 'yurtingress/holder';
/** The names of the pools in the spec. */
export const poolsOf = ({ spec }: YurtIngress): string[] => [...readSpec(spec).pools.keys()];
const holdersOf = (object: L7Router | IngressClass): string[] => [holderOf(object) ?? []].flat();

/** Reads the state of front doors from informer caches. Both controllers share one instance. */
export class FrontDoors {
  readonly yurtIngresses: Informer<YurtIngress>;
  readonly routers: Informer<L7Router>;
  readonly classes: Informer<IngressClass>;
  readonly namespaces: Informer<Namespace>;
  readonly #membership: Membership;

  constructor({ informers, membership }: Pick<YurtIngressContext, 'informers' | 'membership'>) {
    this.yurtIngresses = informers.for(YURT_INGRESSES);
    this.routers = informers.for(L7_ROUTERS);
    this.classes = informers.for(INGRESS_CLASSES);
    this.namespaces = informers.for(NAMESPACES, { fieldSelector: `metadata.name=${FRONT_DOOR_NAMESPACE}` });
    this.#membership = membership;
    this.yurtIngresses.addIndex(POOL_INDEX, poolsOf);
    this.routers.addIndex(HOLDER_INDEX, holdersOf);
    this.classes.addIndex(HOLDER_INDEX, holdersOf);
  }

  /** Collects everything that decides about the front door of a pool. */
  observe(pool: string): Observed {
    return {
      pool,
      exists: POOL_KINDS.some((kind) => this.#membership.hasPool(kind, pool)),
      nodes: POOL_KINDS.reduce((sum, kind) => sum + this.#membership.nodesOf(kind, pool).size, 0),
      claimants: this.yurtIngresses.cache.byIndex(POOL_INDEX, pool).filter(isClaimant),
      router: this.routers.cache.get(pool),
      ingressClass: this.classes.cache.get(pool),
      namespace: this.namespaces.cache.get(FRONT_DOOR_NAMESPACE),
    };
  }

  /** Calls the listener with each pool that is created, is deleted, or whose nodes change. */
  onPoolChange(listener: (pool: string) => void): void {
    this.#membership.subscribe((change) => {
      const pools = change.type === 'moved' ? [change.from, change.to] : [change.pool];
      for (const pool of pools) if (pool !== undefined) listener(pool);
    });
  }

  /** The names of all YurtIngresses that list the pool, also of those that do not own its front door. */
  wantedBy(pool: string): string[] {
    return this.yurtIngresses.cache.byIndex(POOL_INDEX, pool).map(({ metadata }) => `${metadata.name}`);
  }

  /** The pools of all YurtIngresses. */
  pools(): Set<string> {
    return new Set(this.yurtIngresses.cache.list().flatMap(poolsOf));
  }

  /** The pools for which an L7Router or IngressClass of this YurtIngress exists. */
  heldBy(name: string): string[] {
    const objects = [
      ...this.routers.cache.byIndex(HOLDER_INDEX, name),
      ...this.classes.cache.byIndex(HOLDER_INDEX, name),
    ];
    return [...new Set(objects.map(({ metadata }) => `${metadata.name}`))];
  }
}
