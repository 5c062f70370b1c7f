import { isOlderVersion, type KubeObject } from '@tidegate/kube';
import { type ApiError, tooOldResourceVersion } from '@tidegate/serving';
import { objectOf, SHARED, type View, type ViewChange, type ViewItem } from '../views/index.ts';
import { DependencyIndex } from './dependencies.ts';
import { type EventType, History, historyBytes, type ProjectionEvent } from './history.ts';
import { atVersion, type ItemFilter, looksSame } from './item-filter.ts';
import { causeOrNext, newerOf, nextVersion } from './version.ts';

export interface ProjectionListener {
  /**
   * The version that the client resumed its watch from. It may be newer than the view: the client may have received it
   * from an API server, or from the hub before the hub was killed with that state not yet on disk.
   */
  readonly resumedFrom?: string;
  /** Receives events in order. An empty array: only the version has changed. All listeners get the same array. */
  changed(events: readonly ProjectionEvent[]): void;
  /** The watch must end. With a reason, the client must receive it; without one, it finds out when it reconnects. */
  ended(why?: ApiError): void;
}

/**
 * A view as the clients of one filter chain and one selection see it: the current objects, and a history of events.
 *
 * An object that changes only because of a dependency, for example a Service, gets the version of that dependency, in
 * events and in lists, because informers may ignore an update with an unchanged version. All other objects keep the
 * version that the API server gave them.
 *
 * There are three versions. `#viewVersion` is how far the view has come. `#version` is what clients get in lists and
 * bookmarks; it is at least `#viewVersion`, and newer after a change by a dependency. `#ownVersion` is the newest version
 * that was handed out while it was ahead of the view; an object that was hidden must not be shown again below it.
 */
export class Projection {
  readonly view: View;
  readonly #itemFilter: ItemFilter;
  readonly #shown = new Map<string, ViewItem>();
  readonly #dependencies = new DependencyIndex();
  readonly #listeners = new Set<ProjectionListener>();
  readonly #unsubscribe: () => void;
  #history: History;
  #version: string;
  #viewVersion: string;
  #ownVersion: string | undefined;
  #sorted: readonly ViewItem[] | undefined;

  /**
   * The projection starts at the version of the view or at `notBefore`, whichever is newer. Clients with older versions
   * cannot resume. The view must not be empty.
   */
  constructor(view: View, itemFilter: ItemFilter, notBefore?: string) {
    const version = view.resourceVersion;
    if (version === undefined)
      throw new TypeError(`the view of ${view.key.resource.resource} is empty; await ready() first`);
    this.view = view;
    this.#itemFilter = itemFilter;
    this.#viewVersion = version;
    this.#version = newerOf(notBefore, version);
    this.#history = new History(this.#version, historyBytes(this.view));
    this.#noteOwnVersion(this.#version);
    this.#filterAll();
    this.#unsubscribe = view.subscribe((changes, now, relisted) => {
      if (relisted === true) this.#relisted(now);
      this.#follow(changes, now);
    });
  }

  /** The version of lists and bookmarks, from which clients resume. */
  get resourceVersion(): string {
    return this.#version;
  }

  /** The newest version that clients received while it was ahead of the view. Undefined: there was none. */
  get ownVersion(): string | undefined {
    return this.#ownVersion;
  }

  /**
   * Whether the projection shows a state that is at least as new as this version: because the view has come that far, or
   * because this projection handed the version out.
   */
  reaches(resourceVersion: string): boolean {
    return !isOlderVersion(this.#viewVersion, resourceVersion) || this.#history.has(resourceVersion);
  }

  get(key: string): ViewItem | undefined {
    return this.#shown.get(key);
  }

  /** In the order of their keys, as API servers list. */
  items(): readonly ViewItem[] {
    this.#sorted ??= [...this.#shown.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
    return this.#sorted;
  }

  /** The events after `resourceVersion`. Throws 410 if they are not known any more, or never were. */
  since(resourceVersion: string): ProjectionEvent[] {
    // Clients get the versions of shared views only from the hub. A newer one comes from an earlier process of the hub,
    // and what the filters depended on then is not known.
    if (this.view.key.identity === SHARED && isOlderVersion(this.#version, resourceVersion))
      throw tooOldResourceVersion(resourceVersion, this.#version);
    return this.#history.since(resourceVersion);
  }

  subscribe(listener: ProjectionListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Filters the objects that depend on these again. `cause` is the version of the Service or pool that changed; by default,
   * the next version of the projection, for a change that has no version. Objects that look the same as before cause no
   * event.
   */
  dependenciesChanged(dependencies: ReadonlySet<string>, cause = nextVersion(this.#version)): void {
    const events: ProjectionEvent[] = [];
    for (const key of this.#dependencies.affected(dependencies)) {
      const item = this.view.get(key);
      if (item === undefined) continue;
      const filtered = this.#filter(item);
      const shown = this.#shown.get(key);
      if (filtered !== undefined && shown !== undefined && looksSame(filtered, shown)) continue;
      const version = this.#versionAfter(shown, causeOrNext(cause, (shown ?? item).resourceVersion));
      if (filtered === undefined) this.#hide(shown, version, events);
      else this.#show(atVersion(filtered, version), events);
    }
    if (events.length > 0) this.#publish(events, cause);
  }

  /** Discards the history, so that clients with versions before `version` must list again. */
  resetHistory(version: string): void {
    this.#version = newerOf(this.#version, version);
    this.#history = new History(this.#version, historyBytes(this.view));
    this.#publish([], this.#version);
  }

  /**
   * The events for a client that has seen another projection of the same view until now.
   *
   * The client may have received any version before `version`, so an object that looks different to it must get at least
   * `version`. The clients that were in this projection before see the object under the new version too: one projection
   * has one version of an object.
   */
  differencesTo(before: Projection, version: string): ProjectionEvent[] {
    const events: ProjectionEvent[] = [];
    const restated: ProjectionEvent[] = [];
    for (const shown of before.items()) {
      if (!this.#shown.has(shown.key)) events.push({ type: 'DELETED', item: atVersion(shown, version) });
    }
    for (const item of this.items()) {
      const shown = before.get(item.key);
      const older = isOlderVersion(item.resourceVersion, shown?.resourceVersion);
      if (shown !== undefined && !older && looksSame(item, shown)) continue;
      if (isOlderVersion(item.resourceVersion, version)) this.#show(atVersion(item, version), restated);
      events.push({ type: shown === undefined ? 'ADDED' : 'MODIFIED', item: this.#shown.get(item.key)! });
    }
    if (restated.length > 0) this.#publish(restated, version);
    return events;
  }

  /** Ends all watches of the projection. */
  close(): void {
    this.#unsubscribe();
    this.#end();
  }

  /**
   * The view was listed again, at `resourceVersion`. A client that resumed from a version between the old state of the view
   * and the list has seen events that the hub has not. An object that the client saw, and that was deleted since, is neither
   * in the old state nor in the list, so no event would delete it. The client must list again.
   */
  #relisted(resourceVersion: string): void {
    // Clients of shared views cannot have seen more than the hub: their versions come from the hub only.
    if (this.view.key.identity === SHARED) return;
    this.#history.relisted(resourceVersion);
    for (const listener of [...this.#listeners]) {
      const { resumedFrom } = listener;
      if (resumedFrom === undefined || !isOlderVersion(this.#viewVersion, resumedFrom)) continue;
      if (!isOlderVersion(resumedFrom, resourceVersion)) continue;
      this.#listeners.delete(listener);
      listener.ended(tooOldResourceVersion(resumedFrom, resourceVersion));
    }
  }

  #follow(changes: readonly ViewChange[], resourceVersion: string): void {
    if (isOlderVersion(resourceVersion, this.#viewVersion)) {
      this.#rollBack(resourceVersion);
      return;
    }
    this.#viewVersion = resourceVersion;
    const events: ProjectionEvent[] = [];
    for (const change of changes) this.#apply(change, events);
    this.#publish(events, resourceVersion);
  }

  #apply(change: ViewChange, events: ProjectionEvent[]): void {
    const { type, item, previous } = change;
    const shown = this.#shown.get(item.key);
    // A dependency gave the object a newer version than the API server. This change may be older than that version.
    const overtaken = shown !== undefined && shown.resourceVersion !== previous?.resourceVersion;
    const version = this.#versionAfter(
      shown,
      overtaken ? causeOrNext(item.resourceVersion, shown.resourceVersion) : item.resourceVersion,
    );
    if (type === 'delete') {
      // An unfiltered object is sent as the API server sent it. A filtered one is sent as clients saw it last.
      this.#hide(shown?.bytes === previous.bytes ? item : shown, version, events);
      this.#dependencies.delete(item.key);
      return;
    }
    const filtered = this.#filter(item, () => parseOnce(change));
    if (filtered === undefined) this.#hide(shown, version, events);
    else this.#show(atVersion(filtered, version), events);
  }

  /**
   * An object that is not shown may have been hidden at a version that was ahead of the view. When it is shown again, its
   * version must not be older than that deletion, or informers take it for an old event.
   */
  #versionAfter(shown: ViewItem | undefined, version: string): string {
    return shown === undefined ? newerOf(this.#ownVersion, version) : version;
  }

  #filter(item: ViewItem, parse?: () => KubeObject): ViewItem | undefined {
    const filtered = this.#itemFilter.apply(item, parse);
    this.#dependencies.set(item.key, filtered.dependencies);
    return filtered.item;
  }

  #show(item: ViewItem, events: ProjectionEvent[]): void {
    const type: EventType = this.#shown.has(item.key) ? 'MODIFIED' : 'ADDED';
    this.#shown.set(item.key, item);
    events.push({ type, item });
  }

  /** Sends DELETED with the last state that clients have seen, and the version at which the object was hidden. */
  #hide(last: ViewItem | undefined, version: string, events: ProjectionEvent[]): void {
    if (last === undefined) return;
    this.#shown.delete(last.key);
    this.#noteOwnVersion(version);
    events.push({ type: 'DELETED', item: atVersion(last, version) });
  }

  /** Records the events and sends them to all watches. `resourceVersion` is the version of the change behind them. */
  #publish(events: readonly ProjectionEvent[], resourceVersion: string): void {
    if (events.length > 0) this.#sorted = undefined;
    let version = newerOf(this.#version, resourceVersion);
    for (const event of events) {
      this.#history.record(event);
      version = newerOf(version, event.item.resourceVersion);
    }
    this.#history.trim();
    // One batch may exceed the history. Clients must then get a version from which they can resume.
    version = newerOf(version, this.#history.oldest);
    if (version !== this.#version) this.#history.mark(version);
    this.#version = version;
    this.#noteOwnVersion(version);
    for (const listener of [...this.#listeners]) listener.changed(events);
  }

  #noteOwnVersion(version: string): void {
    if (isOlderVersion(this.#viewVersion, version)) this.#ownVersion = newerOf(this.#ownVersion, version);
  }

  #filterAll(): void {
    this.#shown.clear();
    this.#dependencies.clear();
    this.#sorted = undefined;
    for (const raw of this.view.items()) {
      const { item, dependencies, corrected } = this.#itemFilter.apply(raw);
      this.#dependencies.set(raw.key, dependencies);
      // Clients may know another state of the object under its own version, from before a restart of the hub.
      if (item !== undefined) this.#shown.set(raw.key, corrected ? atVersion(item, this.#version) : item);
    }
  }

  /** The cluster was restored from a backup, so versions start again. All watches end with 410, and clients list again. */
  #rollBack(resourceVersion: string): void {
    const why = tooOldResourceVersion(this.#version, resourceVersion);
    this.#viewVersion = resourceVersion;
    this.#version = resourceVersion;
    this.#ownVersion = undefined;
    this.#history = new History(resourceVersion, historyBytes(this.view));
    this.#filterAll();
    this.#end(why);
  }

  #end(why?: ApiError): void {
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener.ended(why);
  }
}

const parsed = new WeakMap<ViewChange, KubeObject>();

/** Parses the object of a change once for all projections of the view. The result is freed with the change. */
function parseOnce(change: ViewChange): KubeObject {
  const object = parsed.get(change) ?? objectOf(change.item);
  parsed.set(change, object);
  return object;
}
