import type { Controller, Informer, Informers, KubeObject, Resource } from '@tidegate/kube';
import { ROUTER_LABEL } from '../../api/index.ts';

/**
 * The objects of routers of one kind. There is one informer for each namespace in which routers may run, so that the manager
 * needs no permission to read objects in other namespaces.
 */
export class NamespacedInformers<T extends KubeObject = KubeObject> {
  readonly #informers: readonly Informer<T>[];

  /** Without namespaces, in the whole cluster. */
  constructor(informers: Informers, resource: Resource<T>, namespaces: readonly string[] | undefined) {
    const select = { labelSelector: ROUTER_LABEL };
    this.#informers =
      namespaces === undefined
        ? [informers.for(resource, select)]
        : namespaces.map((namespace) => informers.for(resource, { ...select, namespace }));
  }

  addIndex(name: string, valuesOf: (object: T) => string[]): void {
    for (const informer of this.#informers) informer.addIndex(name, valuesOf);
  }

  /** Enqueues the keys whenever an object changes. */
  watchedBy(
    controller: Controller,
    keysOf: (object: T) => string[],
    matters?: (old: T, object: T) => boolean,
  ): void {
    for (const informer of this.#informers) controller.watch(informer, keysOf, matters);
  }

  get(key: string): T | undefined {
    for (const { cache } of this.#informers) {
      const found = cache.get(key);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  list(): T[] {
    return this.#informers.flatMap(({ cache }) => [...cache.list()]);
  }

  byIndex(name: string, value: string): T[] {
    return this.#informers.flatMap(({ cache }) => [...cache.byIndex(name, value)]);
  }
}
