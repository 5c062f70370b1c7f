import type { Informer, Informers, KubeObject, Resource } from '@tidegate/kube';

/** What the agent needs of an informer. */
export type FollowedInformer<T extends KubeObject> = Pick<
  Informer<T>,
  'addHandler' | 'addIndex' | 'cache' | 'synced'
>;

/** Where an agent gets its informers from. */
export interface InformerSource {
  for<T extends KubeObject>(
    resource: Resource<T>,
    select?: Parameters<Informers['for']>[1],
  ): FollowedInformer<T>;
}

/**
 * The informers of a process as one of its agents sees them. Agents in one process share informers, so that another router
 * costs no more watches; `close` removes the handlers of this agent.
 */
export class SectionInformers implements InformerSource {
  readonly #informers: Informers;
  readonly #removals: (() => void)[] = [];

  constructor(informers: Informers) {
    this.#informers = informers;
  }

  for<T extends KubeObject>(
    resource: Resource<T>,
    select?: Parameters<Informers['for']>[1],
  ): FollowedInformer<T> {
    const informer = this.#informers.for(resource, select);
    return {
      addHandler: (handler) => {
        const remove = informer.addHandler(handler);
        this.#removals.push(remove);
        return remove;
      },
      addIndex: (name, valuesOf) => informer.addIndex(name, valuesOf),
      cache: informer.cache,
      synced: informer.synced,
    };
  }

  close(): void {
    for (const remove of this.#removals.splice(0)) remove();
  }
}
