import { type Informer, isBeingDeleted } from '@tidegate/kube';
import type { L7Router } from '../../api/index.ts';
import { podsKeyOf, sharedPodsOf, shareNamespace, workloadOf } from './identity.ts';

const SHARED_PODS_INDEX = 'ingress/shared-pods';

const indexByPods = (router: L7Router): string[] =>
  sharedPodsOf(router) === undefined ? [] : [podsKeyOf(router)];

/** Which routers run in which pods. Most routers have pods of their own. */
export class PodMembers {
  readonly #routers: Informer<L7Router>;

  constructor(routers: Informer<L7Router>) {
    this.#routers = routers;
    routers.addIndex(SHARED_PODS_INDEX, indexByPods);
  }

  /** All routers in the pods of this router, with itself, the oldest first. Those that are being deleted still serve. */
  of(router: L7Router): L7Router[] {
    if (sharedPodsOf(router) === undefined) return [router];
    const others = this.#routers.cache
      .byIndex(SHARED_PODS_INDEX, podsKeyOf(router))
      .filter(({ metadata }) => metadata.name !== router.metadata.name)
      .filter((each) => shareNamespace(each, router));
    return [router, ...others].sort((a, b) => (isOlder(a, b) ? -1 : 1));
  }

  /**
   * The router that looks after the pods that this one shares: the oldest that stays. If each of them wrote the objects of the
   * pods, the number of writes would grow with the square of the number of routers. Undefined if all of them are being deleted.
   */
  keeperOf(router: L7Router): L7Router | undefined {
    if (sharedPodsOf(router) === undefined) return router;
    const sharing = this.#routers.cache.byIndex(SHARED_PODS_INDEX, podsKeyOf(router));
    return oldestStaying(sharing.filter((each) => shareNamespace(each, router)));
  }

  /** Names of the routers that look after pods with this value of ROUTER_LABEL: one for each namespace with such pods. */
  keepersNamed(label: string): string[] {
    const sharing = this.#routers.cache.byIndex(SHARED_PODS_INDEX, label);
    const inEach = new Map(sharing.map((router) => [workloadOf(router).namespace, router]));
    return [...inEach.values()].flatMap((router) => this.keeperOf(router)?.metadata.name ?? []);
  }

  /** Whether routers share the pods with this value of ROUTER_LABEL. */
  areShared(label: string): boolean {
    return this.#routers.cache.byIndex(SHARED_PODS_INDEX, label).length > 0;
  }

  /** Names of the routers of an object or pod with this value of ROUTER_LABEL. */
  named(label: string): string[] {
    const sharing = this.#routers.cache.byIndex(SHARED_PODS_INDEX, label);
    return sharing.length === 0 ? [label] : sharing.map(({ metadata }) => `${metadata.name}`);
  }
}

/** Why the router cannot run in its shared pods, or undefined if it can. Pure. */
export function sharedPodsRefusal(router: L7Router, members: readonly L7Router[]): string | undefined {
  const pods = sharedPodsOf(router);
  const { section } = router.spec.workload ?? {};
  if (pods === undefined) return undefined;
  if (section === undefined)
    return `spec.workload.section: all sections of the shared pods ${pods} are in use: choose another name in the parameter sharedPods of the class`;
  const others = members.filter(({ metadata }) => metadata.name !== router.metadata.name);
  const twin = others.find(({ spec }) => spec.workload?.section === section);
  if (twin !== undefined && isOlder(twin, router))
    return `spec.workload.section: L7Router ${twin.metadata.name} has section ${section} of the shared pods ${pods}: choose another number`;
  const different = others.find(
    (each) =>
      isOlder(each, router) &&
      (each.spec.driver !== router.spec.driver || each.spec.pool !== router.spec.pool),
  );
  return different === undefined
    ? undefined
    : `spec.workload.sharedPods: L7Router ${different.metadata.name} runs the shared pods ${pods} with another driver or pool: use the same, or choose another name`;
}

const oldestStaying = (routers: readonly L7Router[]): L7Router | undefined =>
  routers
    .filter((each) => !isBeingDeleted(each))
    .reduce<L7Router | undefined>(
      (oldest, each) => (oldest && isOlder(oldest, each) ? oldest : each),
      undefined,
    );

const isOlder = (a: L7Router, b: L7Router): boolean => {
  const [older, younger] = [a, b].map(({ metadata }) => metadata.creationTimestamp ?? '');
  return older! < younger! || (older === younger && `${a.metadata.name}` < `${b.metadata.name}`);
};
