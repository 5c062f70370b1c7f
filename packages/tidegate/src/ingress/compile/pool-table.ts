import { isDeepStrictEqual } from 'node:util';
import { type EndpointSlice, keyOf, type Service, SetsByKey, serviceOfSlice } from '@tidegate/kube';
import type { Changes, Pool, PoolId } from '../model.ts';
import type { PoolReference } from './backend.ts';
import { type ResolvedPool, resolvePool } from './pool.ts';

interface Used {
  readonly reference: PoolReference;
  /** By the key of the Ingress: how often it is served from here. */
  readonly users: Map<string, number>;
  resolved: ResolvedPool | undefined;
}

/** Services with their endpoints, and the pools that are wanted of them. Only what is used is looked at. */
export class PoolTable {
  readonly #services = new Map<string, Service>();
  readonly #slices = new Map<string, EndpointSlice>();
  readonly #slicesOfService = new SetsByKey();
  readonly #pools = new Map<PoolId, Used>();
  readonly #poolsOfService = new SetsByKey();
  readonly #dirty = new Set<PoolId>();
  /** Not used any more, and still to be told. */
  readonly #gone = new Set<PoolId>();

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

  /** Whoever moves from one to another takes the new one before releasing the old: what stays used never goes. */
  use(reference: PoolReference, ingress: string): void {
    const { id } = reference;
    const known = this.#pools.get(id);
    const used = known ?? { reference, users: new Map(), resolved: undefined };
    used.users.set(ingress, (used.users.get(ingress) ?? 0) + 1);
    if (known !== undefined) return;
    this.#pools.set(id, used);
    this.#poolsOfService.add(serviceOf(reference), id);
    this.#dirty.add(id);
  }

  release({ id }: PoolReference, ingress: string): void {
    const used = this.#pools.get(id);
    if (used === undefined) return;
    const left = (used.users.get(ingress) ?? 0) - 1;
    if (left > 0) used.users.set(ingress, left);
    else used.users.delete(ingress);
    if (used.users.size > 0) return;
    this.#pools.delete(id);
    this.#poolsOfService.delete(serviceOf(used.reference), id);
    this.#dirty.delete(id);
    if (used.resolved !== undefined) this.#gone.add(id);
  }

  troubleOf(id: PoolId): ResolvedPool['trouble'] {
    return this.#pools.get(id)?.resolved?.trouble;
  }

  *pools(): Generator<Pool> {
    for (const { resolved } of this.#pools.values()) if (resolved !== undefined) yield resolved.pool;
  }

  /** Looks up what may have changed. `note` is told of each pool, and of its users if they hear something new. */
  flush(note: (id: PoolId, told: Iterable<string>) => void): Changes<PoolId, Pool> {
    const set: Pool[] = [];
    for (const id of this.#dirty) {
      const used = this.#pools.get(id);
      if (used === undefined) continue;
      const before = used.resolved;
      used.resolved = this.#resolve(used.reference);
      if (!isDeepStrictEqual(before?.pool, used.resolved.pool)) set.push(used.resolved.pool);
      note(id, isDeepStrictEqual(before?.trouble, used.resolved.trouble) ? [] : used.users.keys());
    }
    const remove = [...this.#gone];
    this.#dirty.clear();
    this.#gone.clear();
    return { set, remove };
  }

  #resolve(reference: PoolReference): ResolvedPool {
    const service = serviceOf(reference);
    const slices = [...this.#slicesOfService.get(service)].flatMap((key) => this.#slices.get(key) ?? []);
    return resolvePool(reference, this.#services.get(service), slices);
  }

  #markService(key: string): void {
    for (const id of this.#poolsOfService.get(key)) this.#dirty.add(id);
  }
}

const serviceOf = ({ namespace, service }: PoolReference): string => `${namespace}/${service}`;
