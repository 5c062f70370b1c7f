import type { KubeObject } from '../base/object.ts';
import type { KubeClient } from '../client/client.ts';
import type { PatchOptions } from '../client/options.ts';
import type { Resource } from '../client/resource.ts';

type ApplyOptions = Omit<PatchOptions, 'fieldManager'> & {
  /** Default: looked up with discovery. */
  resource?: Resource;
};

/**
 * Server-side apply with one field manager: the server merges our fields with those of other managers, and removes
 * the fields that we applied before and no longer apply. Send only the fields that this program decides on.
 *
 * @example
 * const applier = new Applier(client, 'shop-controller');
 * await applier.apply({
 *   apiVersion: 'v1',
 *   kind: 'ConfigMap',
 *   metadata: { namespace: 'default', name: 'settings' },
 *   data: { theme: 'dark' },
 * });
 */
export class Applier {
  readonly #client: KubeClient;
  readonly #fieldManager: string;

  constructor(client: KubeClient, fieldManager: string) {
    this.#client = client;
    this.#fieldManager = fieldManager;
  }

  /** Takes over conflicting fields: a controller has no user to ask. */
  async apply<T extends KubeObject>(object: T, options: ApplyOptions = {}): Promise<T> {
    const { resource = await this.#client.discovery.forObject(object), subresource, ...rest } = options;
    // The server rejects an applied object with managedFields.
    const { managedFields: _, resourceVersion: __, ...metadata } = object.metadata;
    const target = { name: metadata.name ?? '', namespace: metadata.namespace, subresource };
    return this.#client.patch(
      resource as Resource<T>,
      target,
      'apply',
      { ...object, metadata },
      {
        force: true,
        ...rest,
        fieldManager: this.#fieldManager,
      },
    );
  }

  /** Applies the status of the object through its status subresource. Fields outside of the status are ignored. */
  async applyStatus<T extends KubeObject>(object: T, options: ApplyOptions = {}): Promise<T> {
    return this.apply(object, { ...options, subresource: 'status' });
  }
}
