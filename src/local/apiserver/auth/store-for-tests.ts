/** A store in memory for the tests of what reads from one: no files, no history, same contract otherwise. */
import type { KubeObject } from '../../../kube/object.ts';
import type { Change, Entry, Key, ListResult, Store, Writer } from '../store/types.ts';

export class MemoryStore implements Store {
  revision = 0;
  readonly compactedRevision = 0;
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<(changes: readonly Change[]) => void>();

  get(key: Key): Entry | undefined {
    return this.#entries.get(path(key));
  }

  list(resource: string): ListResult {
    const entries = [...this.#entries].filter(([p]) => p.startsWith(`${resource}|`)).map(([, e]) => e);
    return { entries, revision: this.revision, remaining: 0 };
  }

  count(resource: string): number {
    return this.list(resource).entries.length;
  }

  resources(): string[] {
    return [...new Set([...this.#entries.keys()].map((p) => p.split('|')[0]!))];
  }

  watch(): never {
    throw new Error('not kept here');
  }

  watchAll(listener: (changes: readonly Change[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async write(key: Key, writer: Writer): Promise<Entry | undefined> {
    const previous = this.get(key);
    const result = writer(previous, this.revision + 1);
    if (result.type === 'keep') return previous;
    this.revision++;
    const entry = { namespace: key.namespace, name: key.name, revision: this.revision, value: result.value };
    if (result.type === 'put') this.#entries.set(path(key), entry);
    else this.#entries.delete(path(key));
    const change: Change = { type: result.type, resource: key.resource, entry, previous };
    for (const listener of this.#listeners) listener([change]);
    return entry;
  }

  async flushed(): Promise<void> {}

  async close(): Promise<void> {}

  put(resource: string, object: KubeObject): Promise<Entry | undefined> {
    return this.write(keyOf(resource, object), () => ({
      type: 'put',
      value: Buffer.from(JSON.stringify(object)),
    }));
  }

  remove(resource: string, object: KubeObject): Promise<Entry | undefined> {
    return this.write(keyOf(resource, object), (current) =>
      current === undefined ? { type: 'keep' } : { type: 'delete', value: current.value },
    );
  }
}

const path = (key: Key): string => `${key.resource}|${key.namespace}|${key.name}`;

const keyOf = (resource: string, { metadata }: KubeObject): Key => ({
  resource,
  namespace: metadata.namespace ?? '',
  name: metadata.name!,
});
