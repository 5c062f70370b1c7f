import { isDeepStrictEqual } from 'node:util';
import { type EndpointSlice, keyOf, type Service, SetsByKey, serviceOfSlice } from '@tidegate/kube';
import type { Changes, Upstream, UpstreamId } from '../model.ts';
import type { UpstreamReference } from './backend.ts';
import { type ResolvedUpstream, resolveUpstream } from './upstream.ts';

/** An upstream with at least one user. */
interface Used {
  readonly reference: UpstreamReference;
  /** By key of the Ingress: how many of its routes use the upstream. */
  readonly users: Map<string, number>;
  /** Undefined until the first flush. */
  resolved: ResolvedUpstream | undefined;
}

/**
 * Services with their EndpointSlices, and the upstreams that routes use. Upstreams are counted by user: the first use
 * resolves an upstream, the last release removes it. Services that no route uses cost nothing but memory.
 */
export class UpstreamTable {
  readonly #services = new Map<string, Service>();
  readonly #slices = new Map<string, EndpointSlice>();
  readonly #slicesOfService = new SetsByKey();
  readonly #upstreams = new Map<UpstreamId, Used>();
  readonly #upstreamsOfService = new SetsByKey();
  readonly #dirty = new Set<UpstreamId>();
  /** No longer used. The next flush returns their removal. */
  readonly #gone = new Set<UpstreamId>();

  putService(service: Service): void {
    const key = keyOf(service);
    this.#services.set(key, service);
    this.#markService(key);
  }

  removeService(key: string): void {
    if (this.#services.delete(key)) this.#markService(key);
  }

  putSlice(slice: EndpointSlice): void {
    const key = keyOf(slice);
    this.removeSlice(key);
    const service = serviceOfSlice(slice);
    if (service === undefined) return;
    this.#slices.set(key, slice);
    this.#slicesOfService.add(service, key);
    this.#markService(service);
  }

  removeSlice(key: string): void {
    const slice = this.#slices.get(key);
    const service = slice && serviceOfSlice(slice);
    if (service === undefined) return;
    this.#slices.delete(key);
    this.#slicesOfService.delete(service, key);
    this.#markService(service);
  }

  /**
   * Adds a user. To replace uses, call all `use` before all `release`: otherwise an upstream could be removed in
   * between.
   */
  use(reference: UpstreamReference, ingress: string): void {
    const { id } = reference;
    const known = this.#upstreams.get(id);
    const used = known ?? { reference, users: new Map(), resolved: undefined };
    used.users.set(ingress, (used.users.get(ingress) ?? 0) + 1);
    if (known !== undefined) return;
    this.#upstreams.set(id, used);
    this.#upstreamsOfService.add(serviceOf(reference), id);
    this.#dirty.add(id);
  }

  /** Removes one use of the Ingress. */
  release({ id }: UpstreamReference, ingress: string): void {
    const used = this.#upstreams.get(id);
    if (used === undefined) return;
    const left = (used.users.get(ingress) ?? 0) - 1;
    if (left > 0) used.users.set(ingress, left);
    else used.users.delete(ingress);
    if (used.users.size > 0) return;
    this.#upstreams.delete(id);
    this.#upstreamsOfService.delete(serviceOf(used.reference), id);
    this.#dirty.delete(id);
    if (used.resolved !== undefined) this.#gone.add(id);
  }

  /** The Ingresses that use the upstream. */
  usersOf(id: UpstreamId): Iterable<string> {
    return this.#upstreams.get(id)?.users.keys() ?? [];
  }

  /** Why the upstream has no endpoints. Undefined if it has some. */
  troubleOf(id: UpstreamId): ResolvedUpstream['trouble'] {
    return this.#upstreams.get(id)?.resolved?.trouble;
  }

  *upstreams(): Generator<Upstream> {
    for (const { resolved } of this.#upstreams.values()) if (resolved !== undefined) yield resolved.upstream;
  }

  /**
   * Resolves all dirty upstreams. `note` is called for each; `ingresses` are its users if its problem has changed.
   */
  flush(note: (id: UpstreamId, ingresses: Iterable<string>) => void): Changes<UpstreamId, Upstream> {
    const set: Upstream[] = [];
    for (const id of this.#dirty) {
      const used = this.#upstreams.get(id);
      if (used === undefined) continue;
      const before = used.resolved;
      used.resolved = this.#resolve(used.reference);
      if (!isDeepStrictEqual(before?.upstream, used.resolved.upstream)) set.push(used.resolved.upstream);
      note(id, isDeepStrictEqual(before?.trouble, used.resolved.trouble) ? [] : used.users.keys());
    }
    const remove = [...this.#gone];
    this.#dirty.clear();
    this.#gone.clear();
    return { set, remove };
  }

  #resolve(reference: UpstreamReference): ResolvedUpstream {
    const service = serviceOf(reference);
    const slices = [...this.#slicesOfService.get(service)].flatMap((key) => this.#slices.get(key) ?? []);
    return resolveUpstream(reference, this.#services.get(service), slices);
  }

  #markService(key: string): void {
    for (const id of this.#upstreamsOfService.get(key)) this.#dirty.add(id);
  }
}

const serviceOf = ({ namespace, service }: UpstreamReference): string => `${namespace}/${service}`;
