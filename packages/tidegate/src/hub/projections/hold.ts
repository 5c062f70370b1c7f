import type { Projection, ProjectionListener } from './projection.ts';

/** One client's membership in a shared projection. */
interface Membership {
  readonly projection: Projection;
  readonly leave: () => void;
}

/**
 * The place of one client in a projection, until it is released. The projection is the one that the client's filters and
 * selection require now; it is replaced when the filter configuration changes, while the watch of the client stays open.
 */
export class Hold {
  readonly #join: () => Membership;
  readonly #onRelease: () => void;
  #membership: Membership;
  #listener: ProjectionListener | undefined;
  #unsubscribe = (): void => {};
  #released = false;

  constructor(join: () => Membership, onRelease: () => void) {
    this.#join = join;
    this.#onRelease = onRelease;
    this.#membership = join();
  }

  get projection(): Projection {
    return this.#membership.projection;
  }

  /** Sets the one listener of the client. It moves along when the projection is replaced. */
  subscribe(listener: ProjectionListener): void {
    this.#listener = listener;
    this.#unsubscribe = this.projection.subscribe(listener);
  }

  unsubscribe(): void {
    this.#unsubscribe();
    this.#listener = undefined;
  }

  /**
   * Called when the filters of the client may have changed. The listener receives the differences between the old and the
   * new projection as events with this version.
   */
  rejoin(version: string): void {
    const before = this.#membership;
    // The view was dropped meanwhile, and its watches end.
    if (before.projection.view.resourceVersion === undefined) return;
    const after = this.#join();
    this.#membership = after;
    const listener = this.#listener;
    if (after.projection !== before.projection && listener !== undefined) {
      this.#unsubscribe();
      const events = after.projection.differencesTo(before.projection, version);
      this.#unsubscribe = after.projection.subscribe(listener);
      listener.changed(events);
    }
    before.leave();
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.unsubscribe();
    this.#onRelease();
    this.#membership.leave();
  }
}
