import type { Projection, ProjectionListener } from './projection.ts';

interface Membership {
  readonly projection: Projection;
  readonly leave: () => void;
}

/** What one client holds: the projection that its filters give it now. */
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

  /** One listener: it stays with the client when the projection is another one. */
  subscribe(listener: ProjectionListener): void {
    this.#listener = listener;
    this.#unsubscribe = this.projection.subscribe(listener);
  }

  unsubscribe(): void {
    this.#unsubscribe();
    this.#listener = undefined;
  }

  /** The client's filters may have changed: it is told what looks different now, at `version`. */
  rejoin(version: string): void {
    const before = this.#membership;
    // The view went meanwhile, and the watch of it ends.
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
