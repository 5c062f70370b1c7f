import { keyOf, type Secret, SetsByKey } from '@tidegate/kube';
import { wildcardOf } from '../match/index.ts';
import type { Certificate, Changes, HostName } from '../model.ts';
import type { IngressFacts, TlsEntry } from './facts.ts';
import type { HostTable } from './host-table.ts';
import { compareAge } from './ingress-facts.ts';
import { type SecretState, SecretTable } from './secret-table.ts';
import type { ServedHosts } from './served-hosts.ts';
import { isFor, type TlsSecret } from './tls-secret.ts';

/** An entry in `spec.tls` of an Ingress that applies to a host. */
interface Claim {
  readonly ingress: IngressFacts;
  readonly entry: TlsEntry;
}

type Choice = Omit<Certificate, 'host'>;

/** Clients of the host get the certificate of the router. */
const WITHHELD: Choice = { secret: '', certificate: '', key: '', fingerprint: '' };

/**
 * Chooses the certificate for each host: that of the oldest Ingress of the namespace that owns the host, if its Secret is
 * valid. An entry without hosts applies to hosts for which its certificate is valid: those of the rules of the Ingress, and
 * the names in the certificate. A name in a certificate is not a claim: every tenant can create a certificate for any name, so
 * the namespace must own the host, or the wildcard directly above it.
 */
export class CertificateTable {
  readonly #hosts: HostTable;
  readonly #servedHosts: ServedHosts;
  readonly #secrets = new SecretTable();
  readonly #ingresses = new Map<string, IngressFacts>();
  readonly #ingressesOfSecret = new SetsByKey();
  readonly #claims = new Map<HostName, Map<TlsEntry, Claim>>();
  readonly #served = new Map<HostName, Certificate>();
  /** Hosts with claims, by the wildcard directly above them. */
  readonly #below = new SetsByKey();
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
      for (const host of this.#hostsOf(ingress, entry)) {
        const claims = this.#claims.get(host) ?? new Map<TlsEntry, Claim>();
        this.#claims.set(host, claims.set(entry, { ingress, entry }));
        this.#below.add(wildcardOf(host) ?? '', host);
        this.#dirty.add(host);
      }
    }
  }

  /** Removes the `tls` entries of an Ingress. */
  release(ingress: IngressFacts): void {
    this.#ingresses.delete(ingress.key);
    for (const entry of ingress.tls) {
      this.#ingressesOfSecret.delete(entry.secret, ingress.key);
      for (const host of this.#hostsOf(ingress, entry)) {
        const claims = this.#claims.get(host);
        claims?.delete(entry);
        if (claims?.size === 0) {
          this.#claims.delete(host);
          this.#below.delete(wildcardOf(host) ?? '', host);
        }
        this.#dirty.add(host);
      }
    }
  }

  /** Call it when the owner of the host may have changed. Most hosts have neither a certificate nor a wildcard above. */
  markDirty(host: HostName): void {
    const isConcerned =
      this.#claims.has(host) || this.#served.has(host) || this.#ownerAbove(host) !== undefined;
    if (isConcerned) this.#dirty.add(host);
  }

  /** Call it when the owner of the wildcard has changed. */
  markBelowDirty(wildcard: HostName): void {
    for (const host of this.#below.get(wildcard)) this.#dirty.add(host);
    for (const host of this.#hosts.namesBelow(wildcard)) this.#dirty.add(host);
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

  #choose(host: HostName): Choice | undefined {
    const owner = this.#hosts.ownerOf(host);
    const above = this.#ownerAbove(host);
    const isAnothers = owner !== undefined && above !== undefined && owner !== above;
    return this.#oldestOf(host, owner ?? above) ?? (isAnothers ? WITHHELD : undefined);
  }

  #ownerAbove(host: HostName): string | undefined {
    const wildcard = wildcardOf(host);
    return wildcard === undefined ? undefined : this.#hosts.ownerOf(wildcard);
  }

  /** The oldest valid certificate of the namespace for the host. */
  #oldestOf(host: HostName, namespace: string | undefined): TlsSecret | undefined {
    const claims = this.#claims.get(host);
    if (claims === undefined) return undefined;
    if (!this.#servedHosts.hasCertificate(host, this.#hosts.isNamedByRule(host))) return undefined;
    return [...claims.values()]
      .filter(({ ingress }) => ingress.namespace === namespace)
      .sort(
        (a, b) =>
          compareAge(a.ingress, b.ingress) || a.ingress.tls.indexOf(a.entry) - b.ingress.tls.indexOf(b.entry),
      )
      .flatMap(({ entry }) => this.#secrets.get(entry.secret)?.good ?? [])[0];
  }

  *#claimants(host: HostName): Generator<string> {
    for (const { ingress } of this.#claims.get(host)?.values() ?? []) yield ingress.key;
  }

  #hostsOf({ claims }: IngressFacts, { named, hosts, secret }: TlsEntry): readonly HostName[] {
    if (named) return hosts;
    const good = this.#secrets.get(secret)?.good;
    if (good === undefined) return [];
    return [...new Set([...good.names, ...[...claims.keys()].filter((host) => isFor(good, host))])];
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
