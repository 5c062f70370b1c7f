import { isOlderVersion, type KubeObject } from '@tidegate/kube';
import { type ApiError, tooOldResourceVersion } from '@tidegate/serving';
import { objectOf, SHARED, type View, type ViewChange, type ViewItem } from '../views/index.ts';
import { DependencyIndex } from './dependencies.ts';
import { type EventType, History, type ProjectionEvent } from './history.ts';
import { atVersion, looksSame, type Sight } from './sight.ts';
import { laterThan, newerOf } from './version.ts';

export interface ProjectionListener {
  /** The version that the client came with. It may be one that the hub had before it was killed, and not since. */
  readonly seen?: string;
  /** What happened, in order. Nothing: only the version has moved. All listeners get the same array. */
  changed(events: readonly ProjectionEvent[]): void;
  /** Nothing more will come. With a reason clients have to be told; without, they learn it when they come back. */
  ended(why?: ApiError): void;
}

/**
 * A view as the clients of one chain of filters and one selection see it: the objects, and what happened to them lately.
 *
 * An object that is seen anew only because something else has changed bears the version of that change, here and in
 * lists: informers may take an update under an unchanged version for no update at all. Everything else bears the
 * version that the API server gave it.
 */
export class Projection {
  readonly view: View;
  readonly sight: Sight;
  readonly #shown = new Map<string, ViewItem>();
  readonly #dependencies = new DependencyIndex();
  readonly #listeners = new Set<ProjectionListener>();
  readonly #unsubscribe: () => void;
  #history: History;
  #version: string;
  #viewVersion: string;
  #ownVersion: string | undefined;
  #sorted: readonly ViewItem[] | undefined;

  /** `notBefore`: a version that clients may have seen already, from another projection. The view must not be empty. */
  constructor(view: View, sight: Sight, notBefore?: string) {
    const version = view.resourceVersion;
    if (version === undefined) throw new TypeError(`nothing is known of ${view.key.resource.resource} yet`);
    this.view = view;
    this.sight = sight;
    this.#viewVersion = version;
    this.#version = newerOf(notBefore, version);
    this.#history = new History(this.#version);
    this.#noteOwnVersion(this.#version);
    this.#lookAtAll();
    this.#unsubscribe = view.subscribe((changes, now, leap) => {
      if (leap === true) this.#leap(now);
      this.#follow(changes, now);
    });
  }

  /** What clients may come back with, and what lists are of. */
  get resourceVersion(): string {
    return this.#version;
  }

  /** The newest version that clients got from here before the view had one as new. */
  get ownVersion(): string | undefined {
    return this.#ownVersion;
  }

  /** Whether it shows what was at that version: because it has come that far, or because the version is its own. */
  reaches(resourceVersion: string): boolean {
    return !isOlderVersion(this.#viewVersion, resourceVersion) || this.#history.has(resourceVersion);
  }

  get(key: string): ViewItem | undefined {
    return this.#shown.get(key);
  }

  /** In the order in which API servers list. */
  items(): readonly ViewItem[] {
    this.#sorted ??= [...this.#shown.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
    return this.#sorted;
  }

  /** What happened after `resourceVersion`; throws 410 when that is forgotten, or can not be known. */
  since(resourceVersion: string): ProjectionEvent[] {
    // Nobody but the hub hands out versions of these, so it must have been one that was killed since.
    if (this.view.key.identity === SHARED && isOlderVersion(this.#version, resourceVersion))
      throw tooOldResourceVersion(resourceVersion, this.#version);
    return this.#history.since(resourceVersion);
  }

  subscribe(listener: ProjectionListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Looks again at the objects that hang on these; `cause` is the version of what changed. */
  dependenciesChanged(dependencies: ReadonlySet<string>, cause: string): void {
    const events: ProjectionEvent[] = [];
    for (const key of this.#dependencies.affected(dependencies)) {
      const item = this.view.get(key);
      if (item === undefined) continue;
      const seen = this.#look(item);
      const shown = this.#shown.get(key);
      if (seen !== undefined && shown !== undefined && looksSame(seen, shown)) continue;
      const version = this.#versionAfter(shown, laterThan(cause, (shown ?? item).resourceVersion));
      if (seen === undefined) this.#hide(shown, version, events);
      else this.#show(atVersion(seen, version), events);
    }
    if (events.length > 0) this.#publish(events, cause);
  }

  /** Whoever comes back from before `version` has to list: something has changed that is in no history. */
  startOver(version: string): void {
    this.#version = newerOf(this.#version, version);
    this.#history = new History(this.#version);
    this.#publish([], this.#version);
  }

  /**
   * What clients must be told that have seen another projection of the view until now. They may have seen any version
   * before `version`, so that objects which look different to them get that one, for everybody.
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

  /** Watches of it end. */
  close(): void {
    this.#unsubscribe();
    this.#end();
  }

  /** Who has seen more than we had is not told by the outcome alone what has gone since. */
  #leap(resourceVersion: string): void {
    // Of these nobody has seen more than we: it was us who gave them versions from the future.
    if (this.view.key.identity === SHARED) return;
    this.#history.leap(resourceVersion);
    for (const listener of [...this.#listeners]) {
      const { seen } = listener;
      if (seen === undefined || !isOlderVersion(this.#viewVersion, seen)) continue;
      if (!isOlderVersion(seen, resourceVersion)) continue;
      this.#listeners.delete(listener);
      listener.ended(tooOldResourceVersion(seen, resourceVersion));
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
    // Something else gave the object a version that this change, longer on its way, may not come up to.
    const overtaken = shown !== undefined && shown.resourceVersion !== previous?.resourceVersion;
    const version = this.#versionAfter(
      shown,
      overtaken ? laterThan(item.resourceVersion, shown.resourceVersion) : item.resourceVersion,
    );
    if (type === 'delete') {
      // What went through filters goes as it was shown last.
      this.#hide(shown?.bytes === previous.bytes ? item : shown, version, events);
      this.#dependencies.delete(item.key);
      return;
    }
    const seen = this.#look(item, () => parseOnce(change));
    if (seen === undefined) this.#hide(shown, version, events);
    else this.#show(atVersion(seen, version), events);
  }

  /** What is not shown may have gone out of sight at a version that was our own; it must not come back before that. */
  #versionAfter(shown: ViewItem | undefined, version: string): string {
    return shown === undefined ? newerOf(this.#ownVersion, version) : version;
  }

  #look(item: ViewItem, parse?: () => KubeObject): ViewItem | undefined {
    const seen = this.sight.see(item, parse);
    this.#dependencies.set(item.key, seen.dependencies);
    return seen.item;
  }

  #show(item: ViewItem, events: ProjectionEvent[]): void {
    const type: EventType = this.#shown.has(item.key) ? 'MODIFIED' : 'ADDED';
    this.#shown.set(item.key, item);
    events.push({ type, item });
  }

  /** Clients get the last state that they have seen, under the version at which it went out of sight. */
  #hide(last: ViewItem | undefined, version: string, events: ProjectionEvent[]): void {
    if (last === undefined) return;
    this.#shown.delete(last.key);
    this.#noteOwnVersion(version);
    events.push({ type: 'DELETED', item: atVersion(last, version) });
  }

  #publish(events: readonly ProjectionEvent[], resourceVersion: string): void {
    if (events.length > 0) this.#sorted = undefined;
    let version = newerOf(this.#version, resourceVersion);
    for (const event of events) {
      this.#history.record(event);
      version = newerOf(version, event.item.resourceVersion);
    }
    this.#history.trim();
    // Nobody could come back with a version of which some events are forgotten already.
    version = newerOf(version, this.#history.oldest);
    if (version !== this.#version) this.#history.mark(version);
    this.#version = version;
    this.#noteOwnVersion(version);
    for (const listener of [...this.#listeners]) listener.changed(events);
  }

  #noteOwnVersion(version: string): void {
    if (isOlderVersion(this.#viewVersion, version)) this.#ownVersion = newerOf(this.#ownVersion, version);
  }

  #lookAtAll(): void {
    this.#shown.clear();
    this.#dependencies.clear();
    this.#sorted = undefined;
    for (const item of this.view.items()) {
      const seen = this.#look(item);
      if (seen !== undefined) this.#shown.set(item.key, seen);
    }
  }

  /** The cluster was restored from a backup: versions begin anew, and nothing that clients know counts any more. */
  #rollBack(resourceVersion: string): void {
    const why = tooOldResourceVersion(this.#version, resourceVersion);
    this.#viewVersion = resourceVersion;
    this.#version = resourceVersion;
    this.#ownVersion = undefined;
    this.#history = new History(resourceVersion);
    this.#lookAtAll();
    this.#end(why);
  }

  #end(why?: ApiError): void {
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener.ended(why);
  }
}

const parsed = new WeakMap<ViewChange, KubeObject>();

/** For all projections of the view; forgotten with the change. */
function parseOnce(change: ViewChange): KubeObject {
  const object = parsed.get(change) ?? objectOf(change.item);
  parsed.set(change, object);
  return object;
}
