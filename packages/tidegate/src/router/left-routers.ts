import { type Clock, isNotFound, type Logger, sleep } from '@tidegate/kube';
import type { L7Router } from '../api/index.ts';
import { isServing } from '../ingress/host-placement/router-object.ts';
import type { SectionName } from './section.ts';

/** How often a router that changes to other pods is looked at. */
const LOOK_MS = 5_000;
/** Nodes learn of a changed or deleted Service after a while, and send requests to these pods until then. */
const LINGER_MS = 60_000;

interface LeftRoutersOptions {
  /** Reads the L7Router from the API server. */
  read(router: string, signal: AbortSignal): Promise<L7Router>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Another router may get the number of the section. */
  onReleased(name: SectionName): void;
  /** No request is expected any more: the section can be removed. */
  onEnded(name: SectionName): void;
}

/**
 * Routers that have left the shared pods. If the router was deleted, its Service was deleted before it. If it changes to other
 * pods, its Service leads to these pods until the others serve it, however long it takes to start them. Until then its
 * section must be served, and its number must not be that of another router: clients of one class would get the answers of
 * another one.
 */
export class LeftRouters {
  readonly #options: LeftRoutersOptions;
  /** By the name of the router. */
  readonly #leaving = new Map<string, { stop: AbortController; isHeld: boolean }>();

  constructor(options: LeftRoutersOptions) {
    this.#options = options;
  }

  /** Whether requests for the router can still come to its section. */
  isHeld(router: string): boolean {
    return this.#leaving.get(router)?.isHeld ?? false;
  }

  /** The router has left the pods. */
  add(name: SectionName, signal: AbortSignal): void {
    this.returned(name.router);
    const stop = new AbortController();
    this.#leaving.set(name.router, { stop, isHeld: true });
    // Rejects only when aborted: the router has returned, or the pods end.
    this.#follow(name, AbortSignal.any([signal, stop.signal])).catch(() => {});
  }

  /** The router is in the pods again. */
  returned(router: string): void {
    this.#leaving.get(router)?.stop.abort();
    this.#leaving.delete(router);
  }

  async #follow(name: SectionName, signal: AbortSignal): Promise<void> {
    const { clock, onReleased, onEnded } = this.#options;
    let isDeleted = await this.#look(name, signal);
    for (let looks = 1; isDeleted === undefined; looks++) {
      await sleep(clock, LOOK_MS, signal);
      isDeleted = await this.#look(name, signal, looks);
    }
    const entry = this.#leaving.get(name.router);
    if (isDeleted && entry !== undefined) {
      entry.isHeld = false;
      onReleased(name);
    }
    await sleep(clock, LINGER_MS, signal);
    this.#leaving.delete(name.router);
    onEnded(name);
    if (!isDeleted) onReleased(name);
  }

  /** True if the router was deleted, false if other pods serve it. Undefined if requests still come to these pods. */
  async #look({ router, uid }: SectionName, signal: AbortSignal, looks = 0): Promise<boolean | undefined> {
    const { read, log } = this.#options;
    try {
      const found = await read(router, signal);
      if (found.metadata.uid !== uid) return true;
      return isServing(found) ? false : undefined;
    } catch (error) {
      if (isNotFound(error)) return true;
      signal.throwIfAborted();
      // Without an answer it stays as it is.
      const text =
        'cannot read a router that has left the shared pods; serving it until the API server answers';
      if (looks === 0) log.warn({ err: error, router }, text);
      return undefined;
    }
  }
}
