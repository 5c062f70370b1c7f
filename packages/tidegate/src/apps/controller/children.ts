import {
  type Informer,
  type Informers,
  isForbidden,
  isNotFound,
  type KubeClient,
  type KubeObject,
  qualifiedName,
  type Resource,
} from '@tidegate/kube';
import { EDGE_APPLICATION_NAMESPACE_LABEL } from '../../api/index.ts';

/**
 * Reads the objects of applications. Their kinds are not known in advance, so an informer for a kind and a namespace is
 * started when the first such object is read. The manager needs no permission in other namespaces. Informers use a label
 * selector and cache only objects of applications.
 */
export class Children {
  readonly #client: KubeClient;
  readonly #informers: Informers;
  /** Called once for each new informer, so that the controller can watch it. */
  readonly #onFollow: (informer: Informer) => void;
  readonly #followed = new Map<string, { informer: Informer; resource: Resource }>();

  constructor(client: KubeClient, informers: Informers, onFollow: (informer: Informer) => void) {
    this.#client = client;
    this.#informers = informers;
    this.#onFollow = onFollow;
  }

  /**
   * Returns the object from the cache, or else from the API server. An object that is not in the cache can still exist:
   * the informer may not have synced yet, or the object does not have our label.
   */
  async get(
    resource: Resource,
    { namespace, name = '' }: { namespace?: string; name?: string },
    signal: AbortSignal,
  ): Promise<KubeObject | undefined> {
    let refused = false;
    const key = namespace === undefined ? name : `${namespace}/${name}`;
    const cached = this.#followed.get(idOf(resource, namespace))?.informer.cache.get(key);
    if (cached !== undefined) return cached;
    try {
      return await this.#client.get(
        resource,
        { name, ...(namespace !== undefined && { namespace }) },
        { signal },
      );
    } catch (error) {
      if (isNotFound(error)) return undefined;
      // An informer in a namespace that grants nothing would only be refused again and again.
      if (isForbidden(error)) refused = true;
      throw error;
    } finally {
      if (!refused) this.#follow(resource, namespace);
    }
  }

  /** The cluster no longer has this resource. Its informers end. */
  forget({ group, resource }: Pick<Resource, 'group' | 'resource'>): void {
    const ended = [...this.#followed].filter(
      ([, { resource: followed }]) => followed.group === group && followed.resource === resource,
    );
    for (const [id, { informer }] of ended) {
      this.#followed.delete(id);
      this.#informers.end(informer);
    }
  }

  #follow(resource: Resource, namespace: string | undefined): void {
    const id = idOf(resource, namespace);
    if (this.#followed.has(id)) return;
    const informer = this.#informers.for(resource, {
      labelSelector: EDGE_APPLICATION_NAMESPACE_LABEL,
      ...(namespace !== undefined && { namespace }),
    });
    this.#followed.set(id, { informer, resource });
    this.#onFollow(informer);
  }
}

const idOf = (resource: Resource, namespace: string | undefined): string =>
  `${qualifiedName(resource)}/${resource.version}/${namespace ?? ''}`;
