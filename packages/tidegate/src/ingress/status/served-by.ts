import type { Cache, Informer, KubeObject } from '@tidegate/kube';
import type { L7Router, RouterAddress } from '../../api/index.ts';
import { classesOf } from '../classes/index.ts';
import type { HostName } from '../model.ts';

const CLASS_INDEX = 'ingress/class';

/** Finds the routers that serve a host, from `spec.hosts` and `spec.leaving` of L7Routers. */
export class ServedBy {
  readonly #routers: Cache<L7Router>;
  /** The lists as sets. Informers never change an object, so a list identifies its set. */
  readonly #sets = new WeakMap<readonly HostName[], ReadonlySet<HostName>>();

  constructor(routers: Informer<L7Router>) {
    routers.addIndex(CLASS_INDEX, classesOf);
    this.#routers = routers.cache;
  }

  /** All addresses at which at least one of the hosts is served. */
  addressesFor(className: string, hosts: readonly HostName[]): RouterAddress[] {
    const routers = this.#routers.byIndex(CLASS_INDEX, className).sort(byName);
    const found = new Map<string, RouterAddress>();
    for (const host of hosts) {
      for (const router of this.#routersOf(host, routers)) {
        for (const address of router.status?.addresses ?? []) found.set(JSON.stringify(address), address);
      }
    }
    return [...found.values()];
  }

  /** While a host moves, its old router is used until the new router has an address. */
  #routersOf(host: HostName, routers: readonly L7Router[]): readonly L7Router[] {
    const has = (list: readonly HostName[] | undefined): boolean =>
      list !== undefined && this.#set(list).has(host);
    const all = routers.filter(({ spec }) => host === '' || spec.hosts === undefined || has(spec.hosts));
    const staying = all.filter(({ spec }) => !has(spec.leaving));
    return staying.some(({ status }) => (status?.addresses ?? []).length > 0) ? staying : all;
  }

  #set(list: readonly HostName[]): ReadonlySet<HostName> {
    const known = this.#sets.get(list);
    if (known !== undefined) return known;
    const set = new Set(list);
    this.#sets.set(list, set);
    return set;
  }
}

const byName = (a: KubeObject, b: KubeObject): number =>
  `${a.metadata.name}` < `${b.metadata.name}` ? -1 : 1;
