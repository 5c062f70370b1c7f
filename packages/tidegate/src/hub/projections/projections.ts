import type { Clock, Random } from '@tidegate/kube';
import type { Chain, DependencyListener } from '../filters/index.ts';
import { SHARED, type View, type ViewItem } from '../views/index.ts';
import { Floors } from './floors.ts';
import { Hold } from './hold.ts';
import { Projection } from './projection.ts';
import { EVERYTHING, type Selection } from './selection.ts';
import { type FaultListener, Sight } from './sight.ts';
import { following, laterThan, newerOf } from './version.ts';

export interface ProjectionsOptions {
  clock: Clock;
  random?: Random;
  /** Tells what filters depend on. */
  context: { subscribe(listener: DependencyListener): () => void };
  /** The views that filters look into. */
  causes: readonly View[];
  onFault: FaultListener;
}

/** A client whose watch has ended comes back within moments, and then wants the history. */
const KEPT_IDLE_MS = 2 * 60_000;
const MOST_IDLE = 64;
/** Two processes on the same disk hardly ever begin with the same version of their own. */
const FURTHEST_START = 1000;
/** Older than any. */
const NO_VERSION = '0';

interface Shared {
  readonly id: string;
  readonly projection: Projection;
  holds: number;
  stop: () => void;
}

/** All projections of all views. Clients that see the same through the same filters share one. */
export class Projections {
  readonly #options: ProjectionsOptions;
  readonly #byView = new Map<View, Map<string, Shared>>();
  /** The longest idle first, with what calls their end off. */
  readonly #idle = new Map<Shared, () => void>();
  readonly #holds = new Set<Hold>();
  readonly #unsubscribe: () => void;
  readonly #floors = new Floors();

  constructor(options: ProjectionsOptions) {
    this.#options = options;
    this.#unsubscribe = options.context.subscribe((dependencies, cause) => {
      for (const { projection } of this.#all()) projection.dependenciesChanged(dependencies, cause);
    });
  }

  get size(): number {
    return this.#all().length;
  }

  /**
   * For one client, until it is released. The view must not be empty. `chainOf` is asked again when the configuration
   * of filters changes.
   */
  hold(view: View, chainOf: () => Chain, selection: Selection): Hold {
    const join = (): { projection: Projection; leave: () => void } => this.#join(view, chainOf(), selection);
    const hold = new Hold(join, () => this.#holds.delete(hold));
    this.#holds.add(hold);
    return hold;
  }

  /** One object as clients of this chain see it, without a projection of all the others. */
  get(view: View, chain: Chain, key: string): ViewItem | undefined {
    const shared = this.#byView.get(view)?.get(idOf(chain, EVERYTHING));
    if (shared !== undefined) return shared.projection.get(key);
    const item = view.get(key);
    return item && new Sight(chain, EVERYTHING, this.#options.onFault).see(item).item;
  }

  /** Clients may have other chains from now on. `cause` is the version of the configuration, where it is known. */
  reconfigured(cause?: string): void {
    this.#floors.reconfigured();
    const versions = new Map<View, string>();
    for (const [view, ofView] of this.#byView) {
      const shared = [...ofView.values()];
      const handedOut = shared.map(({ projection }) => projection.resourceVersion).reduce(newerOf);
      const version = laterThan(cause ?? NO_VERSION, handedOut);
      versions.set(view, version);
      // Nobody can come back with the version of the differences: who lost the connection has not seen all of them.
      this.#floors.raise(view, following(version));
      for (const { projection } of shared) projection.startOver(following(version));
    }
    for (const hold of [...this.#holds]) {
      const version = versions.get(hold.projection.view);
      if (version !== undefined) hold.rejoin(version);
    }
  }

  close(): void {
    this.#unsubscribe();
    for (const shared of this.#all()) this.#drop(shared);
  }

  #all(): Shared[] {
    return [...this.#byView.values()].flatMap((shared) => [...shared.values()]);
  }

  #join(view: View, chain: Chain, selection: Selection): { projection: Projection; leave: () => void } {
    const id = idOf(chain, selection);
    const shared = this.#byView.get(view)?.get(id) ?? this.#make(id, view, chain, selection);
    shared.holds += 1;
    this.#idle.get(shared)?.();
    this.#idle.delete(shared);
    return { projection: shared.projection, leave: () => this.#leave(shared) };
  }

  #make(id: string, view: View, chain: Chain, selection: Selection): Shared {
    const sight = new Sight(chain, selection, this.#options.onFault);
    const projection = new Projection(view, sight, this.#notBefore(view, chain));
    const stop = view.onRefused(() => this.#drop(shared));
    const shared: Shared = { id, projection, holds: 0, stop };
    const ofView = this.#byView.get(view) ?? new Map<string, Shared>();
    this.#byView.set(view, ofView.set(id, shared));
    return shared;
  }

  /** A client that was away while something else changed must not take the new state for the one that it knows. */
  #notBefore(view: View, chain: Chain): string {
    const causes = chain.filters.some((filter) => filter.dependsOn) ? this.#options.causes : [];
    const versions = [this.#floors.of(view), ...causes.map(({ resourceVersion }) => resourceVersion)];
    const floor = versions.reduce((a: string, b) => (b === undefined ? a : newerOf(a, b)), NO_VERSION);
    return view.key.identity === SHARED
      ? this.#startAfter(newerOf(floor, view.resourceVersion ?? floor))
      : floor;
  }

  /**
   * What is shown of a shared view hangs on other views and on the configuration of filters too. A version does not tell
   * how far those were when a client saw it, perhaps from a hub that was killed since: so we begin with one of our own.
   */
  #startAfter(version: string): string {
    const { random = Math.random } = this.#options;
    return following(version, 1 + Math.floor(random() * FURTHEST_START));
  }

  #leave(shared: Shared): void {
    shared.holds -= 1;
    if (shared.holds > 0 || !this.#isCurrent(shared)) return;
    this.#idle.set(
      shared,
      this.#options.clock.after(KEPT_IDLE_MS, () => this.#drop(shared)),
    );
    const [longest] = this.#idle.keys();
    if (this.#idle.size > MOST_IDLE && longest !== undefined) this.#drop(longest);
  }

  #isCurrent({ id, projection }: Shared): boolean {
    return this.#byView.get(projection.view)?.get(id)?.projection === projection;
  }

  #drop(shared: Shared): void {
    this.#idle.get(shared)?.();
    this.#idle.delete(shared);
    const { view, ownVersion } = shared.projection;
    this.#floors.raise(view, ownVersion && following(ownVersion));
    const ofView = this.#byView.get(view);
    ofView?.delete(shared.id);
    if (ofView?.size === 0) this.#byView.delete(view);
    shared.stop();
    shared.projection.close();
  }
}

const idOf = (chain: Chain, { namespace, labels, fields }: Selection): string =>
  JSON.stringify([chain.id, namespace, `${labels}`, `${fields}`]);
