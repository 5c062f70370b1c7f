/**
 * The objects of one resource in the order of etcd: by the bytes of `namespace/name`. (Names are ASCII, for which the
 * string order of JavaScript is the byte order.)
 *
 * Each namespace has a bucket. A bucket is sorted when it is first listed and stays sorted from then on. Loading many
 * objects therefore sorts once, and resources that are never listed are never sorted.
 */
import type { Entry } from './types.ts';

/** Compares two objects. */
export function compareKeys(a: ObjectKey, b: ObjectKey): number {
  if (a.namespace !== b.namespace) return compareNamespaces(a.namespace, b.namespace);
  if (a.name === b.name) return 0;
  return a.name < b.name ? -1 : 1;
}

/** Compares two different namespaces with the `/` that follows them in the key: `a-b/x` sorts before `a/x`. */
function compareNamespaces(a: string, b: string): number {
  if (b.startsWith(a)) return '/' < b.charAt(a.length) ? -1 : 1;
  if (a.startsWith(b)) return a.charAt(b.length) < '/' ? -1 : 1;
  return a < b ? -1 : 1;
}

/** The part of a key that orders the objects of one resource. */
export interface ObjectKey {
  namespace: string;
  name: string;
}

/** A sorted run of entries: from index `start` to the end of the array. */
export interface Run {
  readonly entries: readonly Entry[];
  readonly start: number;
}

export class Table {
  readonly #buckets = new Map<string, Bucket>();
  /** The buckets in order; undefined after a namespace was added or removed. */
  #ordered: Bucket[] | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(namespace: string, name: string): Entry | undefined {
    return this.#buckets.get(namespace)?.get(name);
  }

  put(entry: Entry): void {
    let bucket = this.#buckets.get(entry.namespace);
    if (bucket === undefined) {
      bucket = new Bucket(entry.namespace);
      this.#buckets.set(entry.namespace, bucket);
      this.#ordered = undefined;
    }
    if (bucket.put(entry)) this.#size += 1;
  }

  delete(namespace: string, name: string): void {
    const bucket = this.#buckets.get(namespace);
    if (!bucket?.delete(name)) return;
    this.#size -= 1;
    if (bucket.size === 0) {
      this.#buckets.delete(namespace);
      this.#ordered = undefined;
    }
  }

  /** The sorted runs of the objects after `after`, in one namespace or in all. */
  runs(namespace?: string, after?: ObjectKey): Run[] {
    const runs: Run[] = [];
    for (const bucket of this.#selected(namespace)) {
      const entries = bucket.sorted();
      const start = after === undefined ? 0 : firstBehind(bucket.namespace, entries, after);
      if (start < entries.length) runs.push({ entries, start });
    }
    return runs;
  }

  /** Every entry in order, in a new array. */
  all(): Entry[] {
    return this.runs().flatMap((run) => run.entries);
  }

  #selected(namespace: string | undefined): readonly Bucket[] {
    if (namespace) {
      const bucket = this.#buckets.get(namespace);
      return bucket === undefined ? [] : [bucket];
    }
    this.#ordered ??= [...this.#buckets.values()].sort((a, b) =>
      `${a.namespace}/` < `${b.namespace}/` ? -1 : 1,
    );
    return this.#ordered;
  }
}

/** The objects of one namespace. */
class Bucket {
  readonly namespace: string;
  readonly #byName = new Map<string, Entry>();
  #sorted: Entry[] | undefined;

  constructor(namespace: string) {
    this.namespace = namespace;
  }

  get size(): number {
    return this.#byName.size;
  }

  get(name: string): Entry | undefined {
    return this.#byName.get(name);
  }

  sorted(): readonly Entry[] {
    this.#sorted ??= [...this.#byName.values()].sort(compareKeys);
    return this.#sorted;
  }

  /** Returns true if the object is new. */
  put(entry: Entry): boolean {
    const added = !this.#byName.has(entry.name);
    this.#byName.set(entry.name, entry);
    if (this.#sorted === undefined) return added;
    const index = lowerBound(this.#sorted, entry.name);
    if (added) this.#sorted.splice(index, 0, entry);
    else this.#sorted[index] = entry;
    return added;
  }

  delete(name: string): boolean {
    if (!this.#byName.delete(name)) return false;
    this.#sorted?.splice(lowerBound(this.#sorted, name), 1);
    return true;
  }
}

/** Index of the first entry that sorts after `after`, which may be in another namespace. */
function firstBehind(namespace: string, entries: readonly Entry[], after: ObjectKey): number {
  if (namespace !== after.namespace)
    return compareNamespaces(namespace, after.namespace) < 0 ? entries.length : 0;
  const index = lowerBound(entries, after.name);
  return entries[index]?.name === after.name ? index + 1 : index;
}

/** Index of the first entry whose name is equal to `name` or sorts after it. */
function lowerBound(entries: readonly Entry[], name: string): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (entries[middle]!.name < name) low = middle + 1;
    else high = middle;
  }
  return low;
}
