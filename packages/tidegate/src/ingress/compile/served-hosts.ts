import { wildcardOf } from '../match/index.ts';
import type { HostName } from '../model.ts';

/** Which hosts this router is for. Without a list, for all. What is for all hosts together is on every router. */
export class ServedHosts {
  #hosts: ReadonlySet<HostName> | undefined;
  /** Their wildcards: a certificate for one serves the hosts below it, wherever the wildcard itself is served. */
  #wildcards: ReadonlySet<HostName> = new Set();

  constructor(hosts: Iterable<HostName> | undefined) {
    this.set(hosts);
  }

  /** Returns the hosts that come or go; undefined when it may be any. */
  set(hosts: Iterable<HostName> | undefined): HostName[] | undefined {
    const before = this.#hosts;
    const after = hosts && new Set(hosts);
    this.#hosts = after;
    this.#wildcards = new Set([...(after ?? [])].flatMap((host) => wildcardOf(host) ?? []));
    if (before === undefined || after === undefined) return undefined;
    return [
      ...[...before].filter((host) => !after.has(host)),
      ...[...after].filter((host) => !before.has(host)),
    ];
  }

  isLimited(): boolean {
    return this.#hosts !== undefined;
  }

  hasRoutes(host: HostName): boolean {
    return this.#hosts === undefined || host === '' || this.#hosts.has(host);
  }

  /** A certificate that no rule stands behind has no router of its own: it goes wherever clients may ask for it. */
  hasCertificate(host: HostName, namedByRule: boolean): boolean {
    return !namedByRule || this.hasRoutes(host) || this.#wildcards.has(host);
  }
}
