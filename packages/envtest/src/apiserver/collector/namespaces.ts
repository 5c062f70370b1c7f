/** Deletes the contents of terminating namespaces, pods first, and then the namespaces. */
import type { Condition, KubeObject } from '@tidegate/kube';
import { type Core, timestamp, type WriteOptions } from '../operations/core.ts';
import { deleteIfPresent, editIfPresent } from '../operations/if-present.ts';
import { decodeStored } from '../served/codec.ts';
import type { Served } from '../served/registry.ts';
import type { Change } from '../store/types.ts';

const NAMESPACES = 'namespaces';
const PODS = 'pods';
/** The entry in `spec.finalizers` that keeps a namespace until this controller has emptied it. */
const FINALIZER = 'kubernetes';

/** Objects that are still in the namespace, usually because of their own finalizers. */
interface Leftover {
  resource: string;
  count: number;
  finalizers: string[];
}

/**
 * A terminating namespace is reconciled again whenever an object in it changes, so the last deletion completes it.
 */
export class NamespaceCollector {
  readonly #core: Core;
  readonly #options: WriteOptions;
  readonly #enqueue: (name: string) => void;
  readonly #terminating = new Set<string>();

  constructor(core: Core, options: WriteOptions, enqueue: (name: string) => void) {
    this.#core = core;
    this.#options = options;
    this.#enqueue = enqueue;
    for (const entry of core.store.list(NAMESPACES).entries) this.#note(decodeStored(entry));
  }

  observe(change: Change): void {
    const { entry } = change;
    if (change.resource === NAMESPACES) {
      if (change.type === 'delete') this.#terminating.delete(entry.name);
      else this.#note(decodeStored(entry));
    } else if (this.#terminating.has(entry.namespace)) {
      this.#enqueue(entry.namespace);
    }
  }

  #note(namespace: KubeObject): void {
    if (namespace.metadata.deletionTimestamp === undefined) return;
    this.#terminating.add(namespace.metadata.name ?? '');
    this.#enqueue(namespace.metadata.name ?? '');
  }

  /**
   * Deletes the contents, reports what is left and, when nothing is left, removes the finalizer. That update removes
   * the namespace.
   */
  async reconcile(name: string): Promise<void> {
    const served = this.#core.registry.byStorage(NAMESPACES);
    const entry = this.#core.store.get({ resource: NAMESPACES, namespace: '', name });
    if (entry === undefined || served === undefined) return;
    const namespace = decodeStored(entry);
    if (namespace.metadata.deletionTimestamp === undefined) return;
    if (!finalizersOf(namespace).includes(FINALIZER)) return;
    await this.#deleteContents(name);
    const leftovers = this.#leftovers(name);
    const target = { served, namespace: '', name };
    await editIfPresent(this.#core, { ...target, subresource: 'status' }, this.#options, (current) =>
      setConditions(current, leftovers, this.#core.now()),
    );
    if (leftovers.length > 0) return;
    await editIfPresent(this.#core, { ...target, subresource: 'finalize' }, this.#options, (current) => {
      current.spec = {
        ...(current.spec as object),
        finalizers: finalizersOf(current).filter((f) => f !== FINALIZER),
      };
    });
  }

  /** Each storage once: two groups can serve the same objects, for example events. */
  #namespacedResources(): Served[] {
    const storages = new Set<string>();
    return this.#core.registry
      .all()
      .filter((d) => d.namespaced && d.verbs.includes('delete'))
      .flatMap((d) => {
        if (storages.has(d.storage)) return [];
        storages.add(d.storage);
        return this.#core.registry.byStorage(d.storage) ?? [];
      });
  }

  /** Pods come first: they may still use ConfigMaps, Secrets and volumes, and NetworkPolicies still protect them. */
  async #deleteContents(namespace: string): Promise<void> {
    const all = this.#namespacedResources();
    const isPods = ({ definition }: Served): boolean => definition.storage === PODS;
    await this.#deleteAll(namespace, all.filter(isPods));
    await this.#core.store.flushed();
    if (this.#core.store.list(PODS, { namespace, limit: 1 }).entries.length > 0) return;
    await this.#deleteAll(
      namespace,
      all.filter((served) => !isPods(served)),
    );
  }

  async #deleteAll(namespace: string, resources: Served[]): Promise<void> {
    for (const served of resources) {
      const { entries } = this.#core.store.list(served.definition.storage, { namespace });
      await Promise.all(
        entries
          .filter((entry) => decodeStored(entry).metadata.deletionTimestamp === undefined)
          .map((entry) =>
            deleteIfPresent(this.#core, { served, namespace, name: entry.name }, this.#options, {
              propagationPolicy: 'Background',
            }),
          ),
      );
    }
  }

  #leftovers(namespace: string): Leftover[] {
    return this.#namespacedResources().flatMap((served) => {
      const { entries } = this.#core.store.list(served.definition.storage, { namespace });
      if (entries.length === 0) return [];
      const finalizers = entries.flatMap((entry) => decodeStored(entry).metadata.finalizers ?? []);
      const { plural, group } = served.definition;
      return { resource: `${plural}.${group}`, count: entries.length, finalizers };
    });
  }
}

const finalizersOf = (namespace: KubeObject): string[] =>
  (namespace.spec as { finalizers?: string[] } | undefined)?.finalizers ?? [];

/** Reports the remaining objects in the conditions of the namespace. */
function setConditions(namespace: KubeObject, leftovers: Leftover[], now: Date): void {
  const status = (namespace.status ?? {}) as { phase?: string; conditions?: Condition[] };
  const time = timestamp(now);
  const count = (items: Leftover[]): string =>
    items.map((l) => `${l.resource} has ${l.count} resource instances`).join(', ');
  const finalizers = new Map<string, number>();
  for (const name of leftovers.flatMap((l) => l.finalizers))
    finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
  const held = [...finalizers].map(([name, n]) => `${name} in ${n} resource instances`).join(', ');
  const wanted: Omit<Condition, 'lastTransitionTime'>[] = [
    flag(
      'NamespaceDeletionDiscoveryFailure',
      false,
      'ResourcesDiscovered',
      'All resources successfully discovered',
    ),
    flag(
      'NamespaceDeletionGroupVersionParsingFailure',
      false,
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ),
    flag(
      'NamespaceDeletionContentFailure',
      false,
      'ContentDeleted',
      'All content successfully deleted, may be waiting on finalization',
    ),
    leftovers.length === 0
      ? flag('NamespaceContentRemaining', false, 'ContentRemoved', 'All content successfully removed')
      : flag(
          'NamespaceContentRemaining',
          true,
          'SomeResourcesRemain',
          `Some resources are remaining: ${count(leftovers)}`,
        ),
    held === ''
      ? flag(
          'NamespaceFinalizersRemaining',
          false,
          'ContentHasNoFinalizers',
          'All content-preserving finalizers finished',
        )
      : flag(
          'NamespaceFinalizersRemaining',
          true,
          'SomeFinalizersRemain',
          `Some content in the namespace has finalizers remaining: ${held}`,
        ),
  ];
  const old = new Map((status.conditions ?? []).map((c) => [c.type, c]));
  const conditions = wanted.map((condition) => {
    const before = old.get(condition.type);
    const since = before?.status === condition.status ? before.lastTransitionTime : time;
    return { ...condition, lastTransitionTime: since };
  });
  namespace.status = { ...status, phase: 'Terminating', conditions };
}

const flag = (
  type: string,
  on: boolean,
  reason: string,
  message: string,
): Omit<Condition, 'lastTransitionTime'> => ({ type, status: on ? 'True' : 'False', reason, message });
