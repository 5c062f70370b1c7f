import { type KubeObject, type Resource, SERVICES } from '@tidegate/kube';
import type { View, ViewChange, ViewItem, ViewKey, ViewListener } from './view.ts';

export const itemOf = (object: KubeObject): ViewItem => {
  const { namespace, name, resourceVersion = '' } = object.metadata;
  const key = namespace === undefined ? `${name}` : `${namespace}/${name}`;
  return { key, resourceVersion, bytes: Buffer.from(JSON.stringify(object)) };
};

/** A view whose objects a test sets. It is always up to date. */
export class FakeView implements View {
  readonly key: ViewKey;
  readonly kind: string;
  readonly listKind: string;
  state: View['state'] = 'following';
  resourceVersion: string | undefined;
  readonly #items = new Map<string, ViewItem>();
  readonly #listeners = new Set<ViewListener>();
  readonly #refused = new Set<(why: Error) => void>();

  constructor(resourceVersion = '1', resource: Resource = SERVICES, kind = 'Service', identity = 'node') {
    this.key = { identity, resource, namespace: '', labelSelector: '', fieldSelector: '' };
    this.kind = kind;
    this.listKind = `${kind}List`;
    this.resourceVersion = resourceVersion;
  }

  get size(): number {
    return this.#items.size;
  }

  get listeners(): number {
    return this.#listeners.size + this.#refused.size;
  }

  get(key: string): ViewItem | undefined {
    return this.#items.get(key);
  }

  items(): IterableIterator<ViewItem> {
    return this.#items.values();
  }

  put(...objects: KubeObject[]): void {
    const items = objects.map(itemOf);
    this.change(items.map((item) => ({ type: 'put', item, previous: this.#items.get(item.key) })));
  }

  /** Deletes an object at `resourceVersion`. */
  delete(key: string, resourceVersion: string): void {
    const previous = this.#items.get(key)!;
    const object = JSON.parse(previous.bytes.toString()) as KubeObject;
    const item = itemOf({ ...object, metadata: { ...object.metadata, resourceVersion } });
    this.change([{ type: 'delete', item, previous }]);
  }

  /** Without changes, this is a bookmark. */
  change(
    changes: readonly ViewChange[],
    resourceVersion = changes.at(-1)?.item.resourceVersion ?? this.resourceVersion!,
    relisted = false,
  ): void {
    for (const { type, item } of changes) {
      if (type === 'put') this.#items.set(item.key, item);
      else this.#items.delete(item.key);
    }
    this.resourceVersion = resourceVersion;
    for (const listener of [...this.#listeners]) listener(changes, resourceVersion, relisted);
  }

  refuse(why: Error): void {
    for (const listener of [...this.#refused]) listener(why);
  }

  subscribe(listener: ViewListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The view is following from the start, so the listener is never called. */
  onFollowing(): () => void {
    return () => {};
  }

  onRefused(listener: (why: Error) => void): () => void {
    this.#refused.add(listener);
    return () => this.#refused.delete(listener);
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }
}
