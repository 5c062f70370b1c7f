import { isDeepStrictEqual } from 'node:util';
import {
  type Handler,
  INGRESS_CLASSES,
  INGRESSES,
  type Informer,
  type Ingress,
  type KubeObject,
  keyOf,
  SERVICES,
} from '@tidegate/kube';
import {
  ALL_HOSTS,
  CLUSTER_ROUTE_POLICIES,
  HOST_CLAIMS,
  INGRESS_CLASS_POLICIES,
  ROUTE_POLICIES,
} from '../../api/index.ts';
import type { ClassTable, Family } from '../classes/index.ts';
import { classNameOf, type Explain, type Inputs } from '../compile/index.ts';
import type { IngressContext } from '../context.ts';
import { ClaimIndex, ownershipOf, refusalOf } from '../ownership/index.ts';
import type { TlsSecrets } from '../tls-secrets.ts';
import type { Departures } from './departures.ts';
import { type FamilyKind, FamilyRoutes } from './family-routes.ts';

/** Where objects come from. */
interface Source<T extends KubeObject> {
  readonly synced: Promise<void>;
  list(): readonly T[];
  get(key: string): T | undefined;
  addHandler(handler: Handler<T>): void;
}

const sourceOf = <T extends KubeObject>(informer: Informer<T>): Source<T> => ({
  synced: informer.synced,
  list: () => informer.cache.list(),
  get: (key) => informer.cache.get(key),
  addHandler: (handler) => void informer.addHandler(handler),
});

/** Policies come before Ingresses, so that those are read once. */
const FILL_ORDER = [
  'ClusterRoutePolicy',
  'RoutePolicy',
  'IngressClass',
  'HostClaim',
  'Ingress',
  'Service',
  'Secret',
] as const satisfies readonly FamilyKind[];

interface Listener {
  /** The family has pending changes to flush. */
  touched(family: string): void;
  /** The Ingress no longer has an outcome, because its family was removed or rebuilt. */
  forgot(ingress: string): void;
  /** An Ingress has left the classes of the family, which serves it for a while. */
  departed(family: string): void;
}

/**
 * The compiled routes of every family, kept current by informers. Events only mark a family as touched; the placement
 * controller flushes it, so many events become one compilation.
 */
export class RoutesByFamily {
  readonly #classes: ClassTable;
  readonly #secrets: TlsSecrets;
  readonly #departures: Departures;
  readonly #now: () => number;
  readonly #sources: { readonly [K in FamilyKind]: Source<Inputs[K]> };
  readonly #policies;
  /** Of all classes, to explain to authors of Ingresses why they do not get a host. */
  readonly #claims = new ClaimIndex();
  readonly #routes = new Map<string, FamilyRoutes>();
  readonly #listeners: Listener[] = [];

  constructor(context: IngressContext, classes: ClassTable, secrets: TlsSecrets, departures: Departures) {
    const { informers, clock } = context;
    this.#classes = classes;
    this.#secrets = secrets;
    this.#departures = departures;
    this.#now = () => clock.now();
    this.#sources = {
      Ingress: sourceOf(informers.for(INGRESSES)),
      HostClaim: sourceOf(informers.for(HOST_CLAIMS)),
      IngressClass: sourceOf(informers.for(INGRESS_CLASSES)),
      Service: sourceOf(informers.for(SERVICES)),
      Secret: this.#secrets,
      RoutePolicy: sourceOf(informers.for(ROUTE_POLICIES)),
      ClusterRoutePolicy: sourceOf(informers.for(CLUSTER_ROUTE_POLICIES)),
    };
    this.#policies = informers.for(INGRESS_CLASS_POLICIES);
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
    const { Ingress, HostClaim, IngressClass } = this.#sources;
    await Promise.all(
      [...Object.values(this.#sources), this.#policies].map(({ synced }): Promise<void> => synced),
    );
    for (const object of HostClaim.list()) this.#claims.put(ownershipOf(object));
    this.#departures.restore();
    this.#departures.catchUp(
      Ingress.list(),
      (className) => this.#classes.familyOf(className)?.key,
      (className) => IngressClass.get(className) !== undefined,
    );
    this.#classes.onChange((family) => this.#renew(family));
    for (const family of this.#classes.families.keys()) this.#renew(family);
    // Before the next handler, which would remove the routes of the Ingress.
    Ingress.addHandler({ onUpdate: (before, ingress) => this.#depart(before, ingress) });
    Ingress.addHandler(this.#handlerFor('Ingress', (ingress) => classNameOf(ingress) ?? ''));
    HostClaim.addHandler({
      onAdd: (object) => this.#claims.put(ownershipOf(object)),
      onUpdate: (_, object) => this.#claims.put(ownershipOf(object)),
      onDelete: (object) => this.#claims.remove(keyOf(object)),
    });
    const policyChanged = ({ metadata }: KubeObject): void => {
      const family = this.#classes.familyOf(`${metadata.name}`);
      if (family !== undefined) this.#touched(family.key);
    };
    this.#policies.addHandler({
      onAdd: policyChanged,
      onUpdate: (_, policy) => policyChanged(policy),
      onDelete: policyChanged,
    });
    HostClaim.addHandler(this.#handlerFor('HostClaim', ({ spec }) => spec.ingressClassName));
    this.#feedAll('IngressClass');
    this.#feedAll('Service');
    this.#feedAll('Secret');
    this.#feedAll('RoutePolicy');
    this.#feedAll('ClusterRoutePolicy');
  }

  /** Reads the certificates of a namespace that has granted access to them. */
  readCertificatesOf(namespace: string): void {
    this.#secrets.retry(namespace);
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
    const isSame =
      isDeepStrictEqual(old?.classNames, family?.classNames) &&
      isDeepStrictEqual(old?.abilities, family?.abilities);
    if (family === undefined || !isSame) {
      this.#routes.delete(key);
      if (family !== undefined) this.#departWithClasses(key, old, family.classNames);
      for (const { ingress } of old?.outcomes ?? []) {
        for (const listener of this.#listeners) listener.forgot(ingress);
      }
      if (family !== undefined) this.#routes.set(key, this.#newRoutes(family));
    }
    this.#touched(key);
  }

  #newRoutes({ key, classNames, abilities }: Family): FamilyRoutes {
    const routes = new FamilyRoutes(classNames, this.#now, this.#explainFor(classNames), abilities);
    routes.setDeparting(this.#departures.departingFrom(key));
    const fill = <K extends FamilyKind>(kind: K): void => {
      for (const object of this.#sources[kind].list()) routes.put(kind, object);
    };
    for (const kind of FILL_ORDER) fill(kind);
    return routes;
  }

  /**
   * The Ingress changes to a class of other routers: those that serve it go on. A class that does not exist means that the
   * Ingress is not served any more.
   */
  #depart(before: Ingress, ingress: Ingress): void {
    const [from, to] = [classNameOf(before) ?? '', classNameOf(ingress) ?? ''];
    const family = this.#classes.familyOf(from);
    if (from === to || family === undefined || family.key === this.#classes.familyOf(to)?.key) return;
    if (this.#sources.IngressClass.get(to) === undefined) return;
    const key = keyOf(ingress);
    if ((this.#routes.get(family.key)?.outcomeOf(key)?.hosts ?? []).length === 0) return;
    this.#departures.add(family.key, key);
    this.setDeparting(family.key);
    for (const listener of this.#listeners) listener.departed(family.key);
  }

  /** A class leaves a shared address: its Ingresses depart from the routers of the others. */
  #departWithClasses(family: string, old: FamilyRoutes | undefined, classNames: readonly string[]): void {
    for (const { ingress, hosts } of old?.outcomes ?? []) {
      const object = this.#sources.Ingress.get(ingress);
      const className = object === undefined ? '' : (classNameOf(object) ?? '');
      const hasLeft = old?.classNames.includes(className) && !classNames.includes(className);
      if (!hasLeft || hosts.length === 0 || this.#sources.IngressClass.get(className) === undefined) continue;
      this.#departures.add(family, ingress);
      this.#departures.leave(family, className);
    }
  }

  /** The departures of the family have changed. */
  setDeparting(family: string): void {
    const routes = this.#routes.get(family);
    const changed = routes?.setDeparting(this.#departures.departingFrom(family)) ?? [];
    for (const key of changed) {
      const ingress = this.#sources.Ingress.get(key);
      if (ingress === undefined) routes?.remove('Ingress', key);
      else routes?.put('Ingress', ingress);
    }
    if (changed.length > 0) this.#touched(family);
  }

  /** The families of several classes get an explanation only if none of their classes would give the host. */
  #explainFor(classNames: readonly string[]): Explain {
    return (name, namespace) => {
      const host = name === '' ? ALL_HOSTS : name;
      const refusals = classNames.map((className) =>
        refusalOf(
          { className, classNames, host, namespace },
          this.#claims,
          this.#policies.cache.get(className)?.spec,
        ),
      );
      return refusals.includes(undefined) ? undefined : refusals[0];
    };
  }

  /** An update concerns the family of the current class of the object, and that of its previous class. */
  #handlerFor<K extends 'Ingress' | 'HostClaim'>(
    kind: K,
    classOf: (object: Inputs[K]) => string,
  ): Handler<Inputs[K]> {
    const familiesOf = (...objects: Inputs[K][]): Set<string> => {
      const keys = objects.map((object) => this.#classes.familyOf(classOf(object))?.key);
      const left =
        kind === 'Ingress'
          ? objects.flatMap((object) => this.#departures.familiesOf(keyOf(object)))
          : this.#departures.families;
      return new Set([...keys, ...left].filter((key) => key !== undefined));
    };
    const put = (object: Inputs[K], before = object): void => {
      for (const key of familiesOf(object, before)) {
        this.#routes.get(key)?.put(kind, object);
        this.#touched(key);
      }
    };
    return {
      onAdd: (object) => put(object),
      onUpdate: (before, object) => put(object, before),
      onDelete: (object) => {
        for (const key of familiesOf(object)) {
          this.#routes.get(key)?.remove(kind, keyOf(object));
          this.#touched(key);
        }
      },
    };
  }

  /** Other objects can concern every family. A compiler ignores what its Ingresses do not use. */
  #feedAll<K extends Exclude<FamilyKind, 'Ingress' | 'HostClaim'>>(kind: K): void {
    const each = (change: (routes: FamilyRoutes) => void): void => {
      for (const [key, routes] of this.#routes) {
        change(routes);
        this.#touched(key);
      }
    };
    const handler = {
      onAdd: (object: Inputs[K]) => each((routes) => routes.put(kind, object)),
      onUpdate: (_: Inputs[K], object: Inputs[K]) => each((routes) => routes.put(kind, object)),
      onDelete: (object: KubeObject) => each((routes) => routes.remove(kind, keyOf(object))),
    };
    this.#sources[kind].addHandler(handler);
  }

  #touched(family: string): void {
    for (const listener of this.#listeners) listener.touched(family);
  }
}
