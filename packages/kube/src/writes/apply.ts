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
    let body = { ...object, metadata };
    for (let left = MOST_CORRECTIONS; ; left--) {
      try {
        return await send(body);
      } catch (error) {
        if (left === 0) throw error;
        const lists = refusedEmptyLists(error);
        if (isEmptyTextRefused(error)) body = withoutEmptyTexts(body);
        else if (lists.length > 0) await this.#empty(lists, resource, target, rest);
        else throw error;
      }
    }
  }

  /** Writes empty lists with a patch that replaces them as a whole. */
  async #empty(
    lists: readonly string[],
    resource: Resource,
    target: { name: string; namespace: string | undefined; subresource: string | undefined },
    options: Omit<ApplyOptions, 'resource' | 'subresource'>,
  ): Promise<void> {
    const patch = {};
    for (const list of lists) setAt(patch, list.split('.'), []);
    await this.#client.patch(resource, target, 'merge', patch, {
      ...options,
      fieldManager: this.#fieldManager,
    });
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

/** Empty texts and empty lists. */
const MOST_CORRECTIONS = 2;

/**
 * Kubernetes 1.20 turns a list of a custom resource into null when an apply removes its last item, and then refuses it. An apply
 * to a list that is empty already works. Only lists that are fields of fields are known by their path.
 */
const refusedEmptyLists = (error: unknown): string[] =>
  !(error instanceof ApiStatusError)
    ? []
    : (error.details?.causes ?? [])
        .filter(({ message }) => message?.includes('must be of type array: "null"'))
        .flatMap(({ field }) => (field !== undefined && /^\w+(\.\w+)*$/.test(field) ? [field] : []));

function setAt(
  object: Record<string, unknown>,
  [first = '', ...rest]: readonly string[],
  value: unknown,
): void {
  if (rest.length === 0) {
    object[first] = value;
    return;
  }
  object[first] ??= {};
  setAt(object[first] as Record<string, unknown>, rest, value);
}

/** A copy without fields whose value is an empty text. Items of lists stay. */
function withoutEmptyTexts<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutEmptyTexts) as T;
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, item]) => item !== '');
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutEmptyTexts(item)])) as T;
}

/** A copy without the field, at any depth. For fields that an older API server refuses. */
export function withoutField<T>(value: T, name: string): T {
  if (Array.isArray(value)) return value.map((item) => withoutField(item, name)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => key !== name);
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutField(item, name)])) as T;
}
