import { isDeepStrictEqual } from 'node:util';
import {
  type Handler,
  INGRESS_CLASSES,
  INGRESSES,
  type Informer,
  type KubeObject,
  keyOf,
  SECRETS,
  SERVICES,
} from '@tidegate/kube';
import type { ClassTable } from '../classes/index.ts';
import { classNameOf } from '../compile/index.ts';
import type { IngressContext } from '../context.ts';
import { type FamilyInputs, FamilyRoutes } from './family-routes.ts';

/** The manager reads no other Secrets. */
const TLS_SECRETS = { fieldSelector: 'type=kubernetes.io/tls' };

interface Listener {
  /** The family has pending changes to flush. */
  touched(family: string): void;
  /** The Ingress no longer has an outcome, because its family was removed or rebuilt. */
  forgot(ingress: string): void;
}

/**
 * The compiled routes of every family, kept current by informers. Events only mark a family as touched; the placement
 * controller flushes it, so many events become one compilation.
 */
export class RoutesByFamily {
  readonly #classes: ClassTable;
  readonly #now: () => number;
  readonly #informers: { readonly [K in keyof FamilyInputs]: Informer<FamilyInputs[K]> };
  readonly #routes = new Map<string, FamilyRoutes>();
  readonly #listeners: Listener[] = [];

  constructor({ informers, clock }: IngressContext, classes: ClassTable) {
    this.#classes = classes;
    this.#now = () => clock.now();
    this.#informers = {
      Ingress: informers.for(INGRESSES),
      IngressClass: informers.for(INGRESS_CLASSES),
      Service: informers.for(SERVICES),
      Secret: informers.for(SECRETS, TLS_SECRETS),
    };
  }

  get(family: string): FamilyRoutes | undefined {
    return this.#routes.get(family);
  }

  get all(): Iterable<FamilyRoutes> {
    return this.#routes.values();
  }

  listen(listener: Listener): void {
    this.#listeners.push(listener);
  }

  /** Resolves when all informers have synced and all families are filled. Call it after the ClassTable has synced. */
  async follow(): Promise<void> {
    const { Ingress, IngressClass, Service, Secret } = this.#informers;
    await Promise.all([Ingress, IngressClass, Service, Secret].map(({ synced }) => synced));
    this.#classes.onChange((family) => this.#renew(family));
    for (const family of this.#classes.families.keys()) this.#renew(family);
    Ingress.addHandler(this.#ingressHandler());
    this.#feedAll('IngressClass');
    this.#feedAll('Service');
    this.#feedAll('Secret');
  }

  /** Checks certificates again: they expire without any event. */
  recheckCertificates(): void {
    for (const [family, routes] of this.#routes) {
      routes.recheckCertificates();
      this.#touched(family);
    }
  }

  /** Rebuilds a family whose classes have changed. Its compiler reads all objects again. */
  #renew(key: string): void {
    const family = this.#classes.families.get(key);
    const old = this.#routes.get(key);
    if (family === undefined || !isDeepStrictEqual(old?.classNames, family.classNames)) {
      this.#routes.delete(key);
      for (const { ingress } of old?.outcomes ?? []) {
        for (const listener of this.#listeners) listener.forgot(ingress);
      }
      if (family !== undefined) this.#routes.set(key, this.#newRoutes(family.classNames));
    }
    this.#touched(key);
  }

  #newRoutes(classNames: readonly string[]): FamilyRoutes {
    const routes = new FamilyRoutes(classNames, this.#now);
    const fill = <K extends keyof FamilyInputs>(kind: K): void => {
      for (const object of this.#informers[kind].cache.list()) routes.put(kind, object);
    };
    for (const kind of ['IngressClass', 'Ingress', 'Service', 'Secret'] as const) fill(kind);
    return routes;
  }

  /** An update concerns the family of the current class of the Ingress, and that of its previous class. */
  #ingressHandler(): Handler<FamilyInputs['Ingress']> {
    const put = (object: FamilyInputs['Ingress'], before = object): void => {
      for (const key of this.#familiesOf(object, before)) {
        this.#routes.get(key)?.put('Ingress', object);
        this.#touched(key);
      }
    };
    return {
      onAdd: (object) => put(object),
      onUpdate: (before, object) => put(object, before),
      onDelete: (object) => {
        for (const key of this.#familiesOf(object)) {
          this.#routes.get(key)?.remove('Ingress', keyOf(object));
          this.#touched(key);
        }
      },
    };
  }

  #familiesOf(...objects: FamilyInputs['Ingress'][]): Set<string> {
    const keys = objects.map((object) => this.#classes.familyOf(classNameOf(object) ?? '')?.key);
    return new Set(keys.filter((key) => key !== undefined));
  }

  /** Other objects can concern every family. A compiler ignores what its Ingresses do not use. */
  #feedAll<K extends Exclude<keyof FamilyInputs, 'Ingress'>>(kind: K): void {
    const each = (change: (routes: FamilyRoutes) => void): void => {
      for (const [key, routes] of this.#routes) {
        change(routes);
        this.#touched(key);
      }
    };
    const handler = {
      onAdd: (object: FamilyInputs[K]) => each((routes) => routes.put(kind, object)),
      onUpdate: (_: FamilyInputs[K], object: FamilyInputs[K]) => each((routes) => routes.put(kind, object)),
      onDelete: (object: KubeObject) => each((routes) => routes.remove(kind, keyOf(object))),
    };
    this.#informers[kind].addHandler(handler);
  }

  #touched(family: string): void {
    for (const listener of this.#listeners) listener.touched(family);
  }
}
