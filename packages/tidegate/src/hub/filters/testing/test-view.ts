import { type KubeObject, keyOf, type Resource } from '@tidegate/kube';
import type { View, ViewChange, ViewItem, ViewListener } from '../../views/view.ts';

/** A view whose objects a test sets. Every change gets the next version, unless the object has one. */
export class TestView implements View {
  readonly key: View['key'];
  readonly kind = undefined;
  readonly listKind = undefined;
  readonly #items = new Map<string, ViewItem>();
  readonly #listeners = new Set<ViewListener>();
  #version = 0;

  constructor(resource: Resource, objects: readonly KubeObject[] = []) {
    this.key = { identity: 'shared', resource, namespace: '', labelSelector: '', fieldSelector: '' };
    this.put(...objects);
  }

  get state(): View['state'] {
    return this.#version === 0 ? 'empty' : 'following';
  }

  get resourceVersion(): string | undefined {
    return this.#version === 0 ? undefined : String(this.#version);
  }

  get size(): number {
    return this.#items.size;
  }

  get(key: string): ViewItem | undefined {
    return this.#items.get(key);
  }

  items(): IterableIterator<ViewItem> {
    return this.#items.values();
  }

  /** Puts all objects in one change. Returns the version of the last. */
  put(...objects: readonly KubeObject[]): string {
    const changes = objects.map((object): ViewChange => {
      this.#version = Math.max(this.#version + 1, Number(object.metadata.resourceVersion ?? 0));
      const item = this.#item(object);
      return { type: 'put', item, previous: this.#items.get(item.key) };
    });
    for (const { item } of changes) this.#items.set(item.key, item);
    return this.#announce(changes);
  }

  delete(key: string): string {
    const previous = this.#items.get(key)!;
    this.#version += 1;
    this.#items.delete(key);
    const item = { ...previous, resourceVersion: String(this.#version) };
    return this.#announce([{ type: 'delete', item, previous }]);
  }

  subscribe(listener: ViewListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  onFollowing(): () => void {
    return () => {};
  }

  onRefused(): () => void {
    return () => {};
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  #item(object: KubeObject): ViewItem {
    const resourceVersion = object.metadata.resourceVersion ?? String(this.#version);
    const whole = { ...object, metadata: { ...object.metadata, resourceVersion } };
    return { key: keyOf(object), resourceVersion, bytes: Buffer.from(JSON.stringify(whole)) };
  }

  #announce(changes: readonly ViewChange[]): string {
    const version = String(this.#version);
    for (const listener of [...this.#listeners]) listener(changes, version);
    return version;
  }
}
