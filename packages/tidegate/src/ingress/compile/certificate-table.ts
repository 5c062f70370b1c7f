import { keyOf, type Secret, SetsByKey } from '@tidegate/kube';
import type { Certificate, Changes, HostName } from '../model.ts';
import type { HostTable } from './host-table.ts';
import { compareAge, type IngressFacts, type TlsEntry } from './ingress-facts.ts';
import { type SecretState, SecretTable } from './secret-table.ts';
import type { ServedHosts } from './served-hosts.ts';
import type { TlsSecret } from './tls-secret.ts';

/** An entry in `spec.tls` of an Ingress that applies to a host. */
interface Claim {
  readonly ingress: IngressFacts;
  readonly entry: TlsEntry;
}

/**
 * Chooses the certificate for each host: that of the oldest Ingress of the namespace that owns the host, if its Secret is
 * valid. An entry without hosts applies to the DNS names in its certificate.
 */
export class CertificateTable {
  readonly #hosts: HostTable;
  readonly #servedHosts: ServedHosts;
  readonly #secrets = new SecretTable();
  readonly #ingresses = new Map<string, IngressFacts>();
  readonly #ingressesOfSecret = new SetsByKey();
  readonly #claims = new Map<HostName, Map<TlsEntry, Claim>>();
  readonly #served = new Map<HostName, Certificate>();
  readonly #dirty = new Set<HostName>();

  constructor(hosts: HostTable, servedHosts: ServedHosts) {
    this.#hosts = hosts;
    this.#servedHosts = servedHosts;
  }

  /** Returns the keys of the Ingresses that name the Secret. */
  putSecret(secret: Secret): ReadonlySet<string> {
    return this.#changeSecret(keyOf(secret), () => this.#secrets.put(secret));
  }

  removeSecret(key: string): ReadonlySet<string> {
    return this.#changeSecret(key, () => this.#secrets.remove(key));
  }

  /** Adds the `tls` entries of an Ingress. */
  claim(ingress: IngressFacts): void {
    this.#ingresses.set(ingress.key, ingress);
    for (const entry of ingress.tls) {
      this.#ingressesOfSecret.add(entry.secret, ingress.key);
      for (const host of this.#hostsOf(entry)) {
        const claims = this.#claims.get(host) ?? new Map<TlsEntry, Claim>();
        this.#claims.set(host, claims.set(entry, { ingress, entry }));
        this.#dirty.add(host);
      }
    }
  }

  /** Removes the `tls` entries of an Ingress. */
  release(ingress: IngressFacts): void {
    this.#ingresses.delete(ingress.key);
    for (const entry of ingress.tls) {
      this.#ingressesOfSecret.delete(entry.secret, ingress.key);
      for (const host of this.#hostsOf(entry)) {
        const claims = this.#claims.get(host);
        claims?.delete(entry);
        if (claims?.size === 0) this.#claims.delete(host);
        this.#dirty.add(host);
      }
    }
  }

  /** Call it when the owner of the host may have changed. */
  markDirty(host: HostName): void {
    if (this.#claims.has(host) || this.#served.has(host)) this.#dirty.add(host);
  }

  secret(key: string): SecretState | undefined {
    return this.#secrets.get(key);
  }

  servedFor(host: HostName): Certificate | undefined {
    return this.#served.get(host);
  }

  certificates(): Iterable<Certificate> {
    return this.#served.values();
  }

  /**
   * Chooses again for all dirty hosts. `note` is called for each; `ingresses` are its claimants if the choice
   * changed.
   */
  flush(note: (host: HostName, ingresses: Iterable<string>) => void): Changes<HostName, Certificate> {
    const set: Certificate[] = [];
    const remove: HostName[] = [];
    for (const host of this.#dirty) {
      const before = this.#served.get(host);
      const chosen = this.#choose(host);
      const isSame = before?.fingerprint === chosen?.fingerprint && before?.secret === chosen?.secret;
      note(host, isSame ? [] : this.#claimants(host));
      if (isSame) continue;
      if (chosen === undefined) {
        this.#served.delete(host);
        remove.push(host);
        continue;
      }
      const { secret, certificate, key, fingerprint } = chosen;
      const served = { host, secret, certificate, key, fingerprint };
      this.#served.set(host, served);
      set.push(served);
    }
    this.#dirty.clear();
    return { set, remove };
  }

  /** The oldest valid certificate of the namespace that owns the host. */
  #choose(host: HostName): TlsSecret | undefined {
    const claims = this.#claims.get(host);
    if (claims === undefined) return undefined;
    if (!this.#servedHosts.hasCertificate(host, this.#hosts.isNamedByRule(host))) return undefined;
    const owner = this.#hosts.ownerOf(host);
    return [...claims.values()]
      .filter(({ ingress }) => owner === undefined || ingress.namespace === owner)
      .sort(
        (a, b) =>
          compareAge(a.ingress, b.ingress) || a.ingress.tls.indexOf(a.entry) - b.ingress.tls.indexOf(b.entry),
      )
      .flatMap(({ entry }) => this.#secrets.get(entry.secret)?.good ?? [])[0];
  }

  *#claimants(host: HostName): Generator<string> {
    for (const { ingress } of this.#claims.get(host)?.values() ?? []) yield ingress.key;
  }

  #hostsOf({ named, hosts, secret }: TlsEntry): readonly HostName[] {
    return named ? hosts : (this.#secrets.get(secret)?.good?.names ?? []);
  }

  /**
   * The hosts of an entry can depend on its certificate, so the claims are removed before the change and added after
   * it.
   */
  #changeSecret(key: string, change: () => void): ReadonlySet<string> {
    const users = new Set(this.#ingressesOfSecret.get(key));
    const ingresses = [...users].flatMap((user) => this.#ingresses.get(user) ?? []);
    for (const ingress of ingresses) this.release(ingress);
    change();
    for (const ingress of ingresses) this.claim(ingress);
    return users;
  }
}
