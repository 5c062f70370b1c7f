import type { KubeObject } from '../base/object.ts';
import type { KubeClient } from '../client/client.ts';
import type { PatchOptions } from '../client/options.ts';
import type { Resource } from '../client/resource.ts';

type ApplyOptions = Omit<PatchOptions, 'fieldManager'> & {
  /** Asked of discovery when absent. */
  resource?: Resource;
};

/**
 * Server-side apply under one field manager: the server merges what we want into what others want, and removes what
 * we wanted last time and want no more. Send only the fields that this program decides on.
 */
export class Applier {
  readonly #client: KubeClient;
  readonly #fieldManager: string;

  constructor(client: KubeClient, fieldManager: string) {
    this.#client = client;
    this.#fieldManager = fieldManager;
  }

  /** Controllers take conflicting fields over, since there is nobody to ask. */
  async apply<T extends KubeObject>(object: T, options: ApplyOptions = {}): Promise<T> {
    const { resource = await this.#client.discovery.forObject(object), subresource, ...rest } = options;
    // The server refuses to apply what it has managed itself.
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

  async applyStatus<T extends KubeObject>(object: T, options: ApplyOptions = {}): Promise<T> {
    return this.apply(object, { ...options, subresource: 'status' });
  }
}
