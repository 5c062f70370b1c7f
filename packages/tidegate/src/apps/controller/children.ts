import {
  type Informer,
  type Informers,
  isNotFound,
  type KubeClient,
  type KubeObject,
  qualifiedName,
  type Resource,
} from '@tidegate/kube';
import { EDGE_APPLICATION_NAMESPACE_LABEL } from '../../api/index.ts';

/**
 * The objects that applications made, of whatever kinds those are: each kind is watched from the moment that an
 * application has an object of it, and only objects with our label.
 */
export class Children {
  readonly #client: KubeClient;
  readonly #informers: Informers;
  readonly #onFollow: (informer: Informer) => void;
  readonly #followed = new Map<string, Informer>();

  constructor(client: KubeClient, informers: Informers, onFollow: (informer: Informer) => void) {
    this.#client = client;
    this.#informers = informers;
    this.#onFollow = onFollow;
  }

  /** The object as it is now. What the watch does not show may still be there, if only without our label. */
  async get(
    resource: Resource,
    { namespace, name = '' }: { namespace?: string; name?: string },
    signal: AbortSignal,
  ): Promise<KubeObject | undefined> {
    const key = namespace === undefined ? name : `${namespace}/${name}`;
    const cached = this.#follow(resource).cache.get(key);
    if (cached !== undefined) return cached;
    try {
      return await this.#client.get(
        resource,
        { name, ...(namespace !== undefined && { namespace }) },
        { signal },
      );
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  #follow(resource: Resource): Informer {
    const id = `${qualifiedName(resource)}/${resource.version}`;
    let informer = this.#followed.get(id);
    if (informer === undefined) {
      informer = this.#informers.for(resource, { labelSelector: EDGE_APPLICATION_NAMESPACE_LABEL });
      this.#followed.set(id, informer);
      this.#onFollow(informer);
    }
    return informer;
  }
}
