import type { Informer } from '@tidegate/kube';
import type { L7Router } from '../../api/index.ts';

/**
 * All L7Routers, including our own writes that the informer has not received yet. Without it, a reconcile that follows
 * a write immediately would plan with the old routers and place a host twice.
 */
export class NewestRouters {
  readonly #informer: Informer<L7Router>;
  readonly #written = new Map<string, L7Router>();

  constructor(informer: Informer<L7Router>) {
    this.#informer = informer;
    const seen = (router: L7Router): void => {
      const name = `${router.metadata.name}`;
      const written = this.#written.get(name);
      if (written !== undefined && !isNewer(written, router)) this.#written.delete(name);
    };
    informer.addHandler({
      onAdd: seen,
      onUpdate: (_, router) => seen(router),
      onDelete: ({ metadata }) => this.#written.delete(`${metadata.name}`),
    });
  }

  /** Call it with the response of each write. */
  wrote(router: L7Router): void {
    const name = `${router.metadata.name}`;
    const cached = this.#informer.cache.get(name);
    if (cached === undefined || isNewer(router, cached)) this.#written.set(name, router);
  }

  get(name: string): L7Router | undefined {
    return this.#written.get(name) ?? this.#informer.cache.get(name);
  }

  list(): L7Router[] {
    const cached = this.#informer.cache
      .list()
      .filter(({ metadata }) => !this.#written.has(`${metadata.name}`));
    return [...cached, ...this.#written.values()];
  }
}

/** Another uid means that the router was deleted and created again; generations start at 1 then. */
const isNewer = (a: L7Router, b: L7Router): boolean =>
  a.metadata.uid !== b.metadata.uid || (a.metadata.generation ?? 0) > (b.metadata.generation ?? 0);
