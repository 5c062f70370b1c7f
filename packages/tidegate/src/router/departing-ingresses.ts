import { type Clock, INGRESS_CLASSES, INGRESSES, type Ingress, keyOf } from '@tidegate/kube';
import type { L7Router } from '../api/index.ts';
import { departedClassesOf } from '../ingress/classes/index.ts';
import { type Compiler, classNameOf } from '../ingress/compile/index.ts';
import { listedAddressesOf } from '../ingress/listed-addresses.ts';
import type { InformerSource } from './section-informers.ts';

interface DepartingIngressesOptions {
  informers: InformerSource;
  compiler: Compiler;
  /** The classes of this router. */
  classNames(): readonly string[];
  /** The addresses of this router (`ingress/listed-addresses.ts`). */
  addresses(): readonly string[];
  touch(what: 'routes'): void;
  clock: Clock;
}

/**
 * How long the router waits for the decision of the manager. It goes on to wait while the status of the Ingress lists an address
 * of this router: then the manager does not run, and clients are still sent here.
 */
const PATIENCE_MS = 30_000;

/**
 * Ingresses that have changed to another class, and that this router serves until clients have followed. The manager lists
 * them in `spec.departing` of the L7Router. It needs a moment to write that, so the router goes on to serve such an Ingress
 * by itself first. Create it before the Ingresses are fed to the compiler.
 */
export class DepartingIngresses {
  readonly #options: DepartingIngressesOptions;
  #recorded: ReadonlySet<string> = new Set();
  #classes: ReadonlyMap<string, number> = new Map();
  /** Those that the manager has not listed yet, with what cancels their end. */
  readonly #awaited = new Map<string, () => void>();

  constructor(options: DepartingIngressesOptions) {
    this.#options = options;
    options.informers.for(INGRESSES).addHandler({
      onUpdate: (before, ingress) => this.#observe(before, ingress),
      onDelete: (ingress) => this.#forget(keyOf(ingress)),
    });
  }

  /** What the manager has recorded in the L7Router. */
  record(router: L7Router): void {
    this.#recorded = new Set(router.spec.departing);
    this.#classes = departedClassesOf(router);
    for (const key of this.#recorded) this.#cancel(key);
    this.#apply();
  }

  /**
   * Finds Ingresses that changed their class while neither the manager nor this router ran. Call it when the Ingresses and the
   * L7Router are synced.
   */
  catchUp(): void {
    for (const ingress of this.#options.informers.for(INGRESSES).cache.list())
      if (this.#isListed(ingress) && !this.#awaited.has(keyOf(ingress))) this.#await(ingress);
    this.#apply();
  }

  close(): void {
    for (const key of [...this.#awaited.keys()]) this.#cancel(key);
  }

  #observe(before: Ingress, ingress: Ingress): void {
    const { classNames } = this.#options;
    const [from, to] = [classNameOf(before) ?? '', classNameOf(ingress) ?? ''];
    const key = keyOf(ingress);
    if (from === to) return;
    if (classNames().includes(to)) this.#forget(key);
    if (!classNames().includes(from)) return;
    this.#await(ingress);
    this.#apply();
  }

  #await(ingress: Ingress): void {
    const { informers, clock, classNames } = this.#options;
    const [key, className] = [keyOf(ingress), classNameOf(ingress) ?? ''];
    if (classNames().includes(className) || this.#recorded.has(key)) return;
    // Without its class, nothing will serve the Ingress. Its author has taken it out of service.
    if (informers.for(INGRESS_CLASSES).cache.get(className) === undefined) return;
    this.#cancel(key);
    this.#awaited.set(
      key,
      clock.after(PATIENCE_MS, () => this.#expire(key)),
    );
  }

  #expire(key: string): void {
    const { clock, informers } = this.#options;
    const ingress = informers.for(INGRESSES).cache.get(key);
    if (ingress === undefined || !this.#isListed(ingress)) this.#forget(key);
    else
      this.#awaited.set(
        key,
        clock.after(PATIENCE_MS, () => this.#expire(key)),
      );
  }

  #isListed(ingress: Ingress): boolean {
    const own = this.#options.addresses();
    return listedAddressesOf(ingress).some((address) => own.includes(address));
  }

  #forget(key: string): void {
    if (this.#cancel(key)) this.#apply();
  }

  #cancel(key: string): boolean {
    this.#awaited.get(key)?.();
    return this.#awaited.delete(key);
  }

  #apply(): void {
    const { compiler, informers, touch } = this.#options;
    const changed = compiler.setDeparting({
      ingresses: new Set([...this.#recorded, ...this.#awaited.keys()]),
      classes: this.#classes,
    });
    for (const key of changed) {
      const ingress = informers.for(INGRESSES).cache.get(key);
      if (ingress === undefined) compiler.remove('Ingress', key);
      else compiler.put('Ingress', ingress);
    }
    if (changed.length > 0) touch('routes');
  }
}
