/**
 * Who is told of which change. A watcher stands under one topic of its resource: `namespace/name`, where an empty half
 * means any. A change belongs to four topics at most, so a thousand watchers of one object each cost a change of
 * another object nothing.
 */
import type { DiskLogger } from '@tidegate/disk';
import type { Change, WatchOptions } from './types.ts';

export type ChangeListener = (changes: readonly Change[]) => void;

interface Watcher {
  readonly listener: ChangeListener;
  /** Changes up to this revision are not for it: it got them when it began, or did not ask for them. */
  readonly after: number;
}

type Topics = Map<string, Set<Watcher>>;

export class Watchers {
  readonly #log: DiskLogger;
  readonly #byResource = new Map<string, Topics>();
  readonly #ofAll = new Set<Watcher>();

  constructor(log: DiskLogger) {
    this.#log = log;
  }

  /**
   * Hands `kept`, the resource's changes behind `fromRevision` up to the newest `revision`, to the listener; from then
   * on it gets what is dispatched.
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
    this.#tell(watcher, missed);
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && topics.get(topic) === watchers) topics.delete(topic);
      if (topics.size === 0 && this.#byResource.get(resource) === topics) this.#byResource.delete(resource);
    };
  }

  addOfAll(listener: ChangeListener, revision: number): () => void {
    const watcher: Watcher = { listener, after: revision };
    this.#ofAll.add(watcher);
    return () => this.#ofAll.delete(watcher);
  }

  /**
   * Tells everybody about new changes: each watcher once, with all that concerns it. Listeners may end and begin
   * watches: an ended one is not visited any more, a begun one has seen these changes.
   */
  dispatch(changes: readonly Change[]): void {
    for (const watcher of this.#ofAll) this.#tellNew(watcher, changes);
    for (const [watchers, batch] of this.#batches(changes)) {
      for (const watcher of watchers) this.#tellNew(watcher, batch);
    }
  }

  /** The changes that each topic's watchers get; all watchers of a topic share one array. */
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

  #tellNew(watcher: Watcher, batch: readonly Change[]): void {
    const allNew = batch[0]!.entry.revision > watcher.after;
    this.#tell(watcher, allNew ? batch : batch.filter((change) => change.entry.revision > watcher.after));
  }

  /** One listener's failure is its own: the others are told, and the write was made. */
  #tell(watcher: Watcher, changes: readonly Change[]): void {
    if (changes.length === 0) return;
    try {
      watcher.listener(changes);
    } catch (error) {
      this.#log.error({ err: error }, 'a watch listener of the store failed');
    }
  }
}

const EVERYTHING = '/';

function topicOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

function topicsOf({ entry: { namespace, name } }: Change): string[] {
  if (namespace === '') return [EVERYTHING, topicOf('', name)];
  return [EVERYTHING, topicOf(namespace, ''), topicOf('', name), topicOf(namespace, name)];
}
