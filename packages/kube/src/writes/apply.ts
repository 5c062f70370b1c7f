import type { KubeObject } from '../base/object.ts';
import type { KubeClient } from '../client/client.ts';
import { ApiStatusError } from '../client/errors.ts';
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
    const send = (body: T): Promise<T> =>
      this.#client.patch(resource as Resource<T>, target, 'apply', body, {
        force: true,
        ...rest,
        fieldManager: this.#fieldManager,
      });
    const body = { ...object, metadata };
    try {
      return await send(body);
    } catch (error) {
      if (!isEmptyTextRefused(error)) throw error;
      return await send(withoutEmptyTexts(body));
    }
  }

  /** Applies the status of the object through its status subresource. Fields outside of the status are ignored. */
  async applyStatus<T extends KubeObject>(object: T, options: ApplyOptions = {}): Promise<T> {
    return this.apply(object, { ...options, subresource: 'status' });
  }
}

/**
 * Kubernetes 1.20 reads an empty text in an applied custom resource as null, and then refuses it. A field that is left out means
 * the same to a reader that treats both alike.
 */
const isEmptyTextRefused = (error: unknown): boolean =>
  error instanceof ApiStatusError && /must be of type string: "null"/.test(error.message);

/** A copy without fields whose value is an empty text. Items of lists stay. */
function withoutEmptyTexts<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutEmptyTexts) as T;
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, item]) => item !== '');
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutEmptyTexts(item)])) as T;
}
