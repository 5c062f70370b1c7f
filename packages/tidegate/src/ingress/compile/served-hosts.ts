import { wildcardOf } from '../match/index.ts';
import type { HostName } from '../model.ts';

/** The hosts of this router. Without a list, it serves all hosts. Rules for all hosts are on every router. */
export class ServedHosts {
  #hosts: ReadonlySet<HostName> | undefined;
  /** Wildcards above these hosts. Their certificates are needed here, even if the wildcards are on another router. */
  #wildcards: ReadonlySet<HostName> = new Set();

  constructor(hosts: Iterable<HostName> | undefined) {
    this.set(hosts);
  }

  /** Returns the hosts that were added or removed. Undefined if any host may have been. */
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

  /** A host that only `tls` names is not placed on a router. Its certificate is on every router. */
  hasCertificate(host: HostName, namedByRule: boolean): boolean {
    return !namedByRule || this.hasRoutes(host) || this.#wildcards.has(host);
  }
}
