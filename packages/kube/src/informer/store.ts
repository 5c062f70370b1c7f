import type { KubeObject } from '../base/object.ts';
import { keyOf } from '../client/resource.ts';

/** Returns the values under which an object can be found, for example `(pod) => [pod.spec.nodeName]`. */
export type IndexFunction<T extends KubeObject> = (object: T) => readonly string[];

/**
 * The read side of a cache. Keys are those of `keyOf`. Readers share the objects with the cache: never change one.
 */
export interface Cache<T extends KubeObject> {
  readonly size: number;
  get(key: string): T | undefined;
  list(): T[];
  keys(): IterableIterator<string>;
  byIndex(index: string, value: string): T[];
}

/** Objects by key, with secondary indexes. The cost of a change depends on the object, not on the size of the store. */
export class Store<T extends KubeObject> implements Cache<T> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, Index<T>>();
  readonly #report: (error: unknown) => void;

  /** An exception of an index function goes to `report`; the object is then missing from that index. */
  constructor(report: (error: unknown) => void) {
    this.#report = report;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): T[] {
    return [...this.#objects.values()];
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  byIndex(name: string, value: string): T[] {
    const index = this.#indexes.get(name);
    if (index === undefined)
      throw new Error(`index ${JSON.stringify(name)} does not exist; call addIndex first`);
    return index.keys(value).map((key) => this.#objects.get(key)!);
  }

  addIndex(name: string, valuesOf: IndexFunction<T>): void {
    const existing = this.#indexes.get(name);
    if (existing?.valuesOf === valuesOf) return;
    if (existing !== undefined)
      throw new Error(`index ${JSON.stringify(name)} already exists with another function`);
    const index = new Index(valuesOf, this.#report);
    for (const [key, object] of this.#objects) index.set(key, object);
    this.#indexes.set(name, index);
  }

  set(object: T): void {
    const key = keyOf(object);
    for (const index of this.#indexes.values()) index.set(key, object);
    this.#objects.set(key, object);
  }

  delete(key: string): void {
    for (const index of this.#indexes.values()) index.delete(key);
    this.#objects.delete(key);
  }
}

class Index<T extends KubeObject> {
  readonly valuesOf: IndexFunction<T>;
  readonly #report: (error: unknown) => void;
  readonly #keysByValue = new Map<string, Set<string>>();
  /** The current values of each key, so that the index function is never called for an old state of an object. */
  readonly #valuesByKey = new Map<string, readonly string[]>();

  constructor(valuesOf: IndexFunction<T>, report: (error: unknown) => void) {
    this.valuesOf = valuesOf;
    this.#report = report;
  }

  keys(value: string): string[] {
    return [...(this.#keysByValue.get(value) ?? [])];
  }

  set(key: string, object: T): void {
    this.delete(key);
    const values = this.#values(object);
    if (values.length === 0) return;
    this.#valuesByKey.set(key, values);
    for (const value of values) {
      const keys = this.#keysByValue.get(value);
      if (keys === undefined) this.#keysByValue.set(value, new Set([key]));
      else keys.add(key);
    }
  }

  delete(key: string): void {
    for (const value of this.#valuesByKey.get(key) ?? []) {
      const keys = this.#keysByValue.get(value);
      keys?.delete(key);
      if (keys?.size === 0) this.#keysByValue.delete(value);
    }
    this.#valuesByKey.delete(key);
  }

  #values(object: T): readonly string[] {
    try {
      return this.valuesOf(object);
    } catch (error) {
      this.#report(error);
      return [];
    }
  }
}
