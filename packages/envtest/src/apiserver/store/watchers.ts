/**
 * Fan-out of changes to watchers. Each watcher is registered under one topic of its resource, `namespace/name`, in
 * which an empty part matches everything. A change belongs to at most four topics, so a change of one object costs
 * nothing for a thousand watchers of other objects.
 */
import type { DiskLogger } from '@tidegate/disk';
import type { Change, WatchOptions } from './types.ts';

export type ChangeListener = (changes: readonly Change[]) => void;

interface Watcher {
  readonly listener: ChangeListener;
  /**
   * The watcher does not receive changes up to this revision: it received them at the start or did not ask for them.
   */
  readonly after: number;
}

type Topics = Map<string, Set<Watcher>>;

/** All watches of a store. Listeners are called synchronously and must not block. */
export class Watchers {
  readonly #log: DiskLogger;
  readonly #byResource = new Map<string, Topics>();
  readonly #ofAll = new Set<Watcher>();

  constructor(log: DiskLogger) {
    this.#log = log;
  }

  /**
   * Passes `kept`, the changes of the resource after `fromRevision` and up to the current `revision`, to the
   * listener. All later changes come from `dispatch`. Nothing can be lost in between, because both happen in one
   * synchronous step.
   */
  add(
    resource: string,
    { namespace = '', name = '', fromRevision }: WatchOptions,
    listener: ChangeListener,
    kept: readonly Change[],
    revision: number,
  ): () => void {
    const topic = topicOf(namespace, name);
    const watcher: Watcher = { listener, after: Math.max(fromRevision, revision) };
    const topics = this.#byResource.get(resource) ?? new Map<string, Set<Watcher>>();
    this.#byResource.set(resource, topics);
    const watchers = topics.get(topic) ?? new Set<Watcher>();
    topics.set(topic, watchers);
    watchers.add(watcher);
    const missed = topic === EVERYTHING ? kept : kept.filter((change) => topicsOf(change).includes(topic));
    this.#notify(watcher, missed);
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && topics.get(topic) === watchers) topics.delete(topic);
      if (topics.size === 0 && this.#byResource.get(resource) === topics) this.#byResource.delete(resource);
    };
  }

  /** Watches all resources from `revision` on. */
  addOfAll(listener: ChangeListener, revision: number): () => void {
    const watcher: Watcher = { listener, after: revision };
    this.#ofAll.add(watcher);
    return () => this.#ofAll.delete(watcher);
  }

  /**
   * Notifies all watchers of new changes: each watcher once, with every change that concerns it. Listeners may start
   * and stop watches: a stopped watch receives nothing more, and a new one has received these changes at its start.
   */
  dispatch(changes: readonly Change[]): void {
    for (const watcher of this.#ofAll) this.#notifyNew(watcher, changes);
    for (const [watchers, batch] of this.#batches(changes)) {
      for (const watcher of watchers) this.#notifyNew(watcher, batch);
    }
  }

  /** The changes for the watchers of each topic. All watchers of a topic share one array. */
  #batches(changes: readonly Change[]): Map<Set<Watcher>, Change[]> {
    const batches = new Map<Set<Watcher>, Change[]>();
    for (const change of changes) {
      const topics = this.#byResource.get(change.resource);
      if (topics === undefined) continue;
      for (const topic of topicsOf(change)) {
        const watchers = topics.get(topic);
        if (watchers === undefined) continue;
        const batch = batches.get(watchers);
        if (batch === undefined) batches.set(watchers, [change]);
        else batch.push(change);
      }
    }
    return batches;
  }

  #notifyNew(watcher: Watcher, batch: readonly Change[]): void {
    const allNew = batch[0]!.entry.revision > watcher.after;
    this.#notify(watcher, allNew ? batch : batch.filter((change) => change.entry.revision > watcher.after));
  }

  /** A listener that throws affects neither the other listeners nor the write, which is already durable. */
  #notify(watcher: Watcher, changes: readonly Change[]): void {
    if (changes.length === 0) return;
    try {
      watcher.listener(changes);
    } catch (error) {
      this.#log.error({ err: error }, 'a watch listener failed');
    }
  }
}

/** The topic of watchers without namespace and name. */
const EVERYTHING = '/';

function topicOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** Every topic whose watchers must receive the change: all objects, its namespace, its name, and both together. */
function topicsOf({ entry: { namespace, name } }: Change): string[] {
  if (namespace === '') return [EVERYTHING, topicOf('', name)];
  return [EVERYTHING, topicOf(namespace, ''), topicOf('', name), topicOf(namespace, name)];
}
