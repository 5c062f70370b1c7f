import { SetsByKey } from '@tidegate/kube';
import { wildcardOf } from '../match/index.ts';
import type { HostName } from '../model.ts';
import { minus, NOTHING, plus, type Size } from './size.ts';

/**
 * Hosts that must be on the same router: those of one Ingress, because an Ingress has one address, and those below a wildcard,
 * because the router of the wildcard would answer for them.
 */
export interface HostGroup {
  readonly hosts: Set<HostName>;
  size: Size;
}

/**
 * The groups of all hosts of a family. Adding a host or an Ingress costs as much as the change. Removing one can split a
 * group, and then costs as much as the group, unless the host was at its edge.
 */
export class HostGroups {
  readonly #sizes = new Map<HostName, Size>();
  readonly #groups = new Map<HostName, HostGroup>();
  readonly #hostsOfIngress = new Map<string, ReadonlySet<HostName>>();
  readonly #ingresses = new SetsByKey();
  /** Hosts by the wildcard directly above them. */
  readonly #below = new SetsByKey();
  /** Called with a group that has changed. A group that disappears is not reported. */
  readonly #touched: (group: HostGroup) => void;

  constructor(touched: (group: HostGroup) => void) {
    this.#touched = touched;
  }

  get(host: HostName): HostGroup | undefined {
    return this.#groups.get(host);
  }

  sizeOf(host: HostName): Size {
    return this.#sizes.get(host) ?? NOTHING;
  }

  hosts(): Iterable<HostName> {
    return this.#sizes.keys();
  }

  /** Adds a host or changes its size. */
  put(host: HostName, size: Size): void {
    const known = this.#groups.get(host);
    if (known !== undefined) {
      known.size = plus(minus(known.size, this.sizeOf(host)), size);
      this.#sizes.set(host, size);
      this.#touched(known);
      return;
    }
    this.#sizes.set(host, size);
    const group: HostGroup = { hosts: new Set([host]), size };
    this.#groups.set(host, group);
    const above = wildcardOf(host);
    if (above !== undefined) this.#below.add(above, host);
    for (const other of this.#neighbors(host)) this.#unite(host, other);
    this.#touched(this.#groups.get(host)!);
  }

  remove(host: HostName): void {
    const group = this.#groups.get(host);
    if (group === undefined) return;
    const neighbors = new Set(this.#neighbors(host));
    const above = wildcardOf(host);
    if (above !== undefined) this.#below.delete(above, host);
    group.hosts.delete(host);
    group.size = minus(group.size, this.sizeOf(host));
    this.#groups.delete(host);
    this.#sizes.delete(host);
    if (neighbors.size > 1) this.#split(group);
    else if (group.hosts.size > 0) this.#touched(group);
  }

  /**
   * Replaces the hosts of an Ingress. Hosts that are not known are ignored until they are added. Returns whether groups may
   * have changed.
   */
  tie(ingress: string, hosts: readonly HostName[]): boolean {
    const before = this.#hostsOfIngress.get(ingress) ?? new Set();
    const after = new Set(hosts.filter((host) => host !== ''));
    if (before.size === after.size && [...before].every((host) => after.has(host))) return false;
    // Without the old hosts first: splitting must not follow the new ones into another group.
    const staying = new Set([...before].filter((host) => after.has(host)));
    for (const host of before) if (!staying.has(host)) this.#ingresses.delete(host, ingress);
    this.#hostsOfIngress.set(ingress, staying);
    if (before.size > 1 && staying.size < before.size) {
      const groups = new Set([...before].flatMap((host) => this.#groups.get(host) ?? []));
      for (const group of groups) this.#split(group);
    }
    for (const host of after) this.#ingresses.add(host, ingress);
    if (after.size === 0) this.#hostsOfIngress.delete(ingress);
    else this.#hostsOfIngress.set(ingress, after);
    const [first, ...others] = [...after].filter((host) => this.#groups.has(host));
    for (const other of others) this.#unite(first!, other);
    return before.size > 1 || after.size > 1;
  }

  *#neighbors(host: HostName): Generator<HostName> {
    const above = wildcardOf(host);
    if (above !== undefined && this.#groups.has(above)) yield above;
    if (host.startsWith('*.'))
      for (const below of this.#below.get(host)) if (this.#groups.has(below)) yield below;
    for (const ingress of this.#ingresses.get(host))
      for (const other of this.#hostsOfIngress.get(ingress) ?? [])
        if (other !== host && this.#groups.has(other)) yield other;
  }

  /** The smaller group joins the larger one, so that a host changes its group only a few times. */
  #unite(a: HostName, b: HostName): void {
    const [one, two] = [this.#groups.get(a)!, this.#groups.get(b)!];
    if (one === two) return;
    const [large, small] = one.hosts.size >= two.hosts.size ? [one, two] : [two, one];
    for (const host of small.hosts) {
      large.hosts.add(host);
      this.#groups.set(host, large);
    }
    large.size = plus(large.size, small.size);
    small.hosts.clear();
    this.#touched(large);
  }

  #split(group: HostGroup): void {
    const left = new Set(group.hosts);
    group.hosts.clear();
    for (const start of left) {
      const part: HostGroup = { hosts: new Set([start]), size: NOTHING };
      for (const host of part.hosts) {
        left.delete(host);
        part.size = plus(part.size, this.sizeOf(host));
        this.#groups.set(host, part);
        for (const other of this.#neighbors(host)) part.hosts.add(other);
      }
      this.#touched(part);
    }
  }
}
