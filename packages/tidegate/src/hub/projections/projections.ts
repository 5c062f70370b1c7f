import type { Clock, Random } from '@tidegate/kube';
import type { Chain, DependencyListener } from '../filters/index.ts';
import { SHARED, type View, type ViewItem } from '../views/index.ts';
import type { Correction } from './correction.ts';
import { Floors } from './floors.ts';
import { Hold } from './hold.ts';
import { type FaultListener, ItemFilter } from './item-filter.ts';
import { Projection } from './projection.ts';
import { EVERYTHING, type Selection } from './selection.ts';
import { causeOrNext, newerOf, nextVersion } from './version.ts';

export interface ProjectionsOptions {
  clock: Clock;
  /** Math.random by default. */
  random?: Random;
  /** Reports changes of the Services and pools that filters depend on. */
  context: { subscribe(listener: DependencyListener): () => void };
  /** The views that filters depend on, for example of Services and pools. */
  causes: readonly View[];
  /** Corrects objects before they are filtered. */
  correction?: Correction | undefined;
  onFault: FaultListener;
}

/** How long a projection is kept after its last client left. A client whose watch ended resumes soon, with the history. */
const KEPT_IDLE_MS = 2 * 60_000;
/** The number of idle projections. The longest idle are dropped first. */
const MOST_IDLE = 64;
/** The range of the random start of shared views, see `#startAfter`. */
const MOST_START_OFFSET = 1000;
/** Older than any version. */
const NO_VERSION = '0';

interface Entry {
  readonly id: string;
  readonly projection: Projection;
  /** The number of clients. */
  holds: number;
  /** Stops listening for the refusal of the view. */
  stop: () => void;
}

/** All projections of all views. Clients of the same view with the same filters and the same selection share one. */
export class Projections {
  readonly #options: ProjectionsOptions;
  readonly #byView = new Map<View, Map<string, Entry>>();
  /** Idle projections, the longest idle first, with the function that cancels their removal. */
  readonly #idle = new Map<Entry, () => void>();
  readonly #holds = new Set<Hold>();
  readonly #unsubscribe: (() => void)[];
  readonly #floors = new Floors();

  constructor(options: ProjectionsOptions) {
    this.#options = options;
    const changed = (dependencies: ReadonlySet<string>, cause?: string): void => {
      for (const { projection } of this.#all()) projection.dependenciesChanged(dependencies, cause);
    };
    const { context, correction } = options;
    this.#unsubscribe = [context.subscribe(changed)];
    if (correction !== undefined)
      this.#unsubscribe.push(correction.subscribe((dependencies) => changed(dependencies)));
  }

  get size(): number {
    return this.#all().length;
  }

  /**
   * Adds a client, until the hold is released. The view must not be empty. `chainOf` is called again when the filter
   * configuration changes.
   */
  hold(view: View, chainOf: () => Chain, selection: Selection): Hold {
    const join = (): { projection: Projection; leave: () => void } => this.#join(view, chainOf(), selection);
    const hold = new Hold(join, () => this.#holds.delete(hold));
    this.#holds.add(hold);
    return hold;
  }

  /** One object as clients of this chain see it. Uses a projection if there is one, and creates none. */
  get(view: View, chain: Chain, key: string): ViewItem | undefined {
    const entry = this.#byView.get(view)?.get(idOf(chain, EVERYTHING));
    if (entry !== undefined) return entry.projection.get(key);
    const item = view.get(key);
    return item && this.#filterFor(view, chain, EVERYTHING).apply(item).item;
  }

  /**
   * Called when the filter configuration changed, so that clients may have other chains. `cause` is the version of the
   * ConfigMap, if it is known. Every client moves to the projection of its new chain, and receives the differences as
   * events with one version that is newer than all versions that were handed out for the view.
   */
  reconfigured(cause?: string): void {
    this.#floors.reconfigured();
    const versions = new Map<View, string>();
    for (const [view, ofView] of this.#byView) {
      const entries = [...ofView.values()];
      const handedOut = entries.map(({ projection }) => projection.resourceVersion).reduce(newerOf);
      const version = causeOrNext(cause ?? NO_VERSION, handedOut);
      versions.set(view, version);
      // The differences have this version, and are in no history. A client that loses its connection in between has
      // received only some of them. It must list again, so versions to resume from start after this one.
      this.#floors.raise(view, nextVersion(version));
      for (const { projection } of entries) projection.resetHistory(nextVersion(version));
    }
    for (const hold of [...this.#holds]) {
      const version = versions.get(hold.projection.view);
      if (version !== undefined) hold.rejoin(version);
    }
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const entry of this.#all()) this.#drop(entry);
  }

  #all(): Entry[] {
    return [...this.#byView.values()].flatMap((ofView) => [...ofView.values()]);
  }

  #join(view: View, chain: Chain, selection: Selection): { projection: Projection; leave: () => void } {
    const id = idOf(chain, selection);
    const entry = this.#byView.get(view)?.get(id) ?? this.#make(id, view, chain, selection);
    entry.holds += 1;
    this.#idle.get(entry)?.();
    this.#idle.delete(entry);
    return { projection: entry.projection, leave: () => this.#leave(entry) };
  }

  #make(id: string, view: View, chain: Chain, selection: Selection): Entry {
    const filter = this.#filterFor(view, chain, selection);
    const projection = new Projection(view, filter, this.#notBefore(view, chain));
    const stop = view.onRefused(() => this.#drop(entry));
    const entry: Entry = { id, projection, holds: 0, stop };
    const ofView = this.#byView.get(view) ?? new Map<string, Entry>();
    this.#byView.set(view, ofView.set(id, entry));
    return entry;
  }

  #filterFor({ key }: View, chain: Chain, selection: Selection): ItemFilter {
    const { correction, onFault } = this.#options;
    const applies = correction?.appliesTo(key.resource) === true;
    return new ItemFilter(chain, selection, onFault, applies ? correction : undefined);
  }

  /**
   * The version that a new projection starts at, at least. It is not older than the floor of the view, nor than the views
   * that the filters depend on: if a Service changed while a client was disconnected, the client must not resume, as nothing
   * recorded what that change did to the objects.
   */
  #notBefore(view: View, chain: Chain): string {
    const causes = chain.filters.some((filter) => filter.dependsOn) ? this.#options.causes : [];
    const versions = [this.#floors.of(view), ...causes.map(({ resourceVersion }) => resourceVersion)];
    const floor = versions.reduce((a: string, b) => (b === undefined ? a : newerOf(a, b)), NO_VERSION);
    return view.key.identity === SHARED
      ? this.#startAfter(newerOf(floor, view.resourceVersion ?? floor))
      : floor;
  }

  /**
   * A shared view is filtered, and the result depends on other views and on the filter configuration. A version of the view
   * does not say how current those were when a client received it, perhaps from an earlier process of the hub. So a
   * projection of a shared view starts at a version of its own, a random distance ahead. Clients of an earlier process
   * almost never have exactly that version; they get 410 and list again.
   */
  #startAfter(version: string): string {
    const { random = Math.random } = this.#options;
    return nextVersion(version, 1 + Math.floor(random() * MOST_START_OFFSET));
  }

  #leave(entry: Entry): void {
    entry.holds -= 1;
    if (entry.holds > 0 || !this.#isCurrent(entry)) return;
    this.#idle.set(
      entry,
      this.#options.clock.after(KEPT_IDLE_MS, () => this.#drop(entry)),
    );
    const [longest] = this.#idle.keys();
    if (this.#idle.size > MOST_IDLE && longest !== undefined) this.#drop(longest);
  }

  #isCurrent({ id, projection }: Entry): boolean {
    return this.#byView.get(projection.view)?.get(id)?.projection === projection;
  }

  #drop(entry: Entry): void {
    this.#idle.get(entry)?.();
    this.#idle.delete(entry);
    const { view, ownVersion } = entry.projection;
    this.#floors.raise(view, ownVersion && nextVersion(ownVersion));
    const ofView = this.#byView.get(view);
    ofView?.delete(entry.id);
    if (ofView?.size === 0) this.#byView.delete(view);
    entry.stop();
    entry.projection.close();
  }
}

const idOf = (chain: Chain, { namespace, labels, fields }: Selection): string =>
  JSON.stringify([chain.id, namespace, `${labels}`, `${fields}`]);
