/** Keeps the registry consistent with the CustomResourceDefinitions: adds, replaces and removes their resources. */
import type { KubeObject } from '@tidegate/kube';
import type { WebhookTransport } from '../admission/webhooks/transport.ts';
import type { Core, WriteOptions } from '../operations/core.ts';
import { deleteIfPresent, editIfPresent } from '../operations/if-present.ts';
import { decodeStored } from '../served/codec.ts';
import type { Change, Entry } from '../store/types.ts';
import { type AcceptedNames, establish, takenNames } from './conditions.ts';
import { converterOf } from './conversion.ts';
import { definitionOf } from './definition.ts';
import type { CustomResourceDefinition } from './types.ts';

const STORAGE = 'apiextensions.k8s.io/customresourcedefinitions';
const FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';

/** What a definition has registered, to unregister it after its deletion and to ignore changes that do not matter. */
interface Registered {
  group: string;
  plural: string;
  content: string;
}

/**
 * A controller with the name of a definition as its key. A definition goes through three stages: its names are
 * accepted, it is established and served, and, after its deletion, it waits until its objects are gone.
 */
export class CrdRegistrar {
  readonly #core: Core;
  readonly #options: WriteOptions;
  readonly #transport: WebhookTransport;
  readonly #enqueue: (name: string) => void;
  readonly #registered = new Map<string, Registered>();
  /** Definitions that wait for the deletion of their objects, by storage name. */
  readonly #emptying = new Map<string, string>();

  constructor(
    core: Core,
    options: WriteOptions,
    transport: WebhookTransport,
    enqueue: (name: string) => void,
  ) {
    this.#core = core;
    this.#options = options;
    this.#transport = transport;
    this.#enqueue = enqueue;
    // Definitions that were established before a restart are served from the first request on.
    for (const crd of this.#all()) {
      if (isEstablished(crd)) this.#register(crd);
      enqueue(crd.metadata.name ?? '');
    }
  }

  observe(change: Change): void {
    if (change.resource === STORAGE) this.#enqueue(change.entry.name);
    const waiting = change.type === 'delete' ? this.#emptying.get(change.resource) : undefined;
    if (waiting !== undefined) this.#enqueue(waiting);
  }

  async reconcile(name: string): Promise<void> {
    const entry = this.#core.store.get({ resource: STORAGE, namespace: '', name });
    if (entry === undefined) {
      this.#unregister(name);
      return;
    }
    const crd = decodeStored(entry) as CustomResourceDefinition;
    if (crd.metadata.deletionTimestamp !== undefined) return this.#finalize(name, crd);
    const { entries } = this.#core.store.list(STORAGE);
    const others = entries.filter((other) => other.name !== name).map(namesOf);
    const status = establish(crd, takenNames(crd.spec.group, others), this.#core.now());
    // The order matters. The finalizer comes first, so that no object can outlive its definition. The registration
    // comes before the status, so that a client that sees the condition Established can use the new kind.
    if (!(crd.metadata.finalizers ?? []).includes(FINALIZER)) {
      await this.#edit(name, '', (c) => {
        c.metadata.finalizers = [...new Set([...(c.metadata.finalizers ?? []), FINALIZER])];
      });
    }
    const accepted = { ...crd, status };
    if (isEstablished(accepted)) this.#register(accepted);
    if (status !== crd.status) await this.#edit(name, 'status', (c) => Object.assign(c, { status }));
  }

  /** Deletes all objects of a definition before the definition itself. */
  async #finalize(name: string, crd: CustomResourceDefinition): Promise<void> {
    const storage = `${crd.spec.group}/${crd.spec.names?.plural}`;
    const served = this.#core.registry.byStorage(storage);
    const { entries } = this.#core.store.list(storage);
    if (entries.length > 0 && served !== undefined) {
      this.#emptying.set(storage, name);
      for (const { namespace, name: object } of entries) {
        await deleteIfPresent(this.#core, { served, namespace, name: object }, this.#options, {});
      }
      // Objects with finalizers are still there. Their deletion enqueues this definition again; see `observe`.
      await this.#core.store.flushed();
      if (this.#core.store.count(storage) > 0) return;
    }
    this.#emptying.delete(storage);
    this.#unregister(name);
    await this.#edit(name, '', (c) => {
      c.metadata.finalizers = (c.metadata.finalizers ?? []).filter((f) => f !== FINALIZER);
      if (c.metadata.finalizers.length === 0) delete c.metadata.finalizers;
    });
  }

  #register(crd: CustomResourceDefinition): void {
    const name = crd.metadata.name ?? '';
    const content = JSON.stringify([crd.spec, crd.status?.acceptedNames, crd.status?.storedVersions]);
    const before = this.#registered.get(name);
    if (before?.content === content) return;
    // Objects that are written from now on are completed by the new schema.
    const since = this.#core.store.revision + 1;
    const definition = definitionOf(crd, { since, convert: converterOf(crd, this.#transport) });
    this.#registered.set(name, { group: definition.group, plural: definition.plural, content });
    this.#core.registry.set(definition);
  }

  #unregister(name: string): void {
    const registered = this.#registered.get(name);
    if (registered === undefined) return;
    this.#registered.delete(name);
    this.#core.registry.delete(registered.group, registered.plural);
  }

  #all(): CustomResourceDefinition[] {
    return this.#core.store.list(STORAGE).entries.map((e) => decodeStored(e) as CustomResourceDefinition);
  }

  async #edit(name: string, subresource: string, edit: (current: KubeObject) => void): Promise<void> {
    const served = this.#core.registry.byStorage(STORAGE);
    if (served === undefined) throw new Error('CustomResourceDefinitions are not served');
    await editIfPresent(this.#core, { served, namespace: '', name, subresource }, this.#options, edit);
  }
}

/** The accepted names of each stored definition. Definitions are large, and each one is compared with all others. */
const names = new WeakMap<Entry, AcceptedNames>();

function namesOf(entry: Entry): AcceptedNames {
  const known = names.get(entry);
  if (known !== undefined) return known;
  const { spec, status } = decodeStored(entry) as CustomResourceDefinition;
  const found = { group: spec.group, names: status?.acceptedNames ?? {} };
  names.set(entry, found);
  return found;
}

const isEstablished = (crd: CustomResourceDefinition): boolean =>
  (crd.status?.conditions ?? []).some((c) => c.type === 'Established' && c.status === 'True');
