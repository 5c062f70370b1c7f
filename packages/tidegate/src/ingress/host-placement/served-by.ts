import { type Cache, type Informer, isBeingDeleted, type KubeObject } from '@tidegate/kube';
import type { L7Router, RouterAddress } from '../../api/index.ts';
import { classesOf, type Family } from '../classes/index.ts';
import type { HostName } from '../model.ts';
import { isServing, placedFamilyOf } from './router-object.ts';

const CLASS_INDEX = 'ingress/class';
const DEPARTING_INDEX = 'ingress/departing';

/** An Ingress, as the status needs it. */
export interface ServedIngress {
  readonly className: string;
  /** The routers of the class. Others are those that it has left. */
  readonly family: Pick<Family, 'key' | 'driver'>;
  /** The hosts that it is served for. The empty name means all hosts. */
  readonly hosts: readonly HostName[];
  /** The addresses in its status. */
  readonly listed: readonly RouterAddress[];
}

export interface Served {
  readonly addresses: RouterAddress[];
  /** Names of routers that have the hosts, but have not reported that they serve them. */
  readonly awaited: readonly string[];
}

/**
 * Finds the addresses at which an Ingress is served, from the spec and the status of L7Routers. An address is listed only
 * after its router has reported a generation that has the hosts. It stays listed while the router has them: later
 * generations are about other hosts.
 */
export class ServedBy {
  readonly #routers: Cache<L7Router>;
  /** The lists as sets. Informers never change an object, so a list identifies its set. */
  readonly #sets = new WeakMap<readonly HostName[], ReadonlySet<HostName>>();

  constructor(routers: Informer<L7Router>) {
    routers.addIndex(CLASS_INDEX, classesOf);
    routers.addIndex(DEPARTING_INDEX, departingOf);
    this.#routers = routers.cache;
  }

  of(ingress: ServedIngress): Served {
    const routers = this.#routers.byIndex(CLASS_INDEX, ingress.className).sort(byName);
    const having = routers.filter((router) => this.#has(router, ingress.hosts, 'hosts'));
    const staying = having.filter(
      (router) =>
        !isBeingDeleted(router) &&
        !isLeft(router, ingress.family) &&
        !this.#has(router, ingress.hosts, 'leaving'),
    );
    const isServed = (router: L7Router): boolean => serves(router, ingress);
    const now = staying.filter(isServed);
    // While hosts move, the old router is used until the new one serves them.
    const used =
      now.length > 0 ? now : having.filter((router) => !staying.includes(router) && isServed(router));
    return {
      addresses: unique(used.flatMap(({ status }) => status?.addresses ?? [])),
      awaited: staying.filter((router) => !isServed(router)).map(({ metadata }) => `${metadata.name}`),
    };
  }

  /** The addresses at which an Ingress is served that has left the class of these routers. */
  departed(key: string): RouterAddress[] {
    const routers = this.#routers.byIndex(DEPARTING_INDEX, key).sort(byName);
    return unique(routers.flatMap(({ status }) => status?.addresses ?? []));
  }

  /** Rules without a host are on every router, and never leave it. */
  #has({ spec }: L7Router, hosts: readonly HostName[], list: 'hosts' | 'leaving'): boolean {
    const named = hosts.filter((host) => host !== '');
    if (list === 'leaving')
      return named.length > 0 && named.some((host) => this.#set(spec.leaving).has(host));
    if (hosts.length === 0) return false;
    return (
      spec.hosts === undefined || named.length === 0 || named.some((host) => this.#set(spec.hosts).has(host))
    );
  }

  #set(list: readonly HostName[] = NONE): ReadonlySet<HostName> {
    const known = this.#sets.get(list);
    if (known !== undefined) return known;
    const set = new Set(list);
    this.#sets.set(list, set);
    return set;
  }
}

const departingOf = ({ spec }: L7Router): string[] => spec.departing ?? [];

const NONE: readonly HostName[] = [];

/** The class has begun or ended to share an address, or has another provisioner. A user can also create routers. */
const isLeft = (router: L7Router, { key, driver }: ServedIngress['family']): boolean => {
  const placed = placedFamilyOf(router);
  return placed !== undefined && (placed !== key || router.spec.driver !== driver);
};

function serves(router: L7Router, { hosts, listed }: ServedIngress): boolean {
  const { addresses = [], failedHosts = [] } = router.status ?? {};
  if (addresses.length === 0 || failedHosts.some(({ host }) => hosts.includes(host))) return false;
  const known = new Set(listed.map(textOf));
  return isServing(router) || addresses.some((address) => known.has(textOf(address)));
}

const unique = (addresses: readonly RouterAddress[]): RouterAddress[] => [
  ...new Map(addresses.map((address) => [JSON.stringify(address), address])).values(),
];

const textOf = ({ ip, hostname, ports = [] }: RouterAddress): string =>
  [ip, hostname, ...ports.map(({ port }) => port)].join(' ');

const byName = (a: KubeObject, b: KubeObject): number =>
  `${a.metadata.name}` < `${b.metadata.name}` ? -1 : 1;
