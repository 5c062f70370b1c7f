import { isDeepStrictEqual } from 'node:util';
import {
  type Handler,
  INGRESS_CLASSES,
  INGRESSES,
  type Informer,
  type KubeObject,
  keyOf,
  SERVICES,
} from '@tidegate/kube';
import { ALL_HOSTS, HOST_CLAIMS, INGRESS_CLASS_POLICIES } from '../../api/index.ts';
import type { ClassTable } from '../classes/index.ts';
import { classNameOf, type Explain, type Inputs } from '../compile/index.ts';
import type { IngressContext } from '../context.ts';
import { ClaimIndex, ownershipOf, refusalOf } from '../ownership/index.ts';
import type { TlsSecrets } from '../tls-secrets.ts';
import { type FamilyKind, FamilyRoutes } from './family-routes.ts';

/** Where objects come from. */
interface Source<T extends KubeObject> {
  readonly synced: Promise<void>;
  list(): readonly T[];
  addHandler(handler: Handler<T>): void;
}

const sourceOf = <T extends KubeObject>(informer: Informer<T>): Source<T> => ({
  synced: informer.synced,
  list: () => informer.cache.list(),
  addHandler: (handler) => void informer.addHandler(handler),
});

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
  readonly #secrets: TlsSecrets;
  readonly #now: () => number;
  readonly #sources: { readonly [K in FamilyKind]: Source<Inputs[K]> };
  readonly #policies;
  /** Of all classes, to explain to authors of Ingresses why they do not get a host. */
  readonly #claims = new ClaimIndex();
  readonly #routes = new Map<string, FamilyRoutes>();
  readonly #listeners: Listener[] = [];

  constructor(context: IngressContext, classes: ClassTable, secrets: TlsSecrets) {
    const { informers, clock } = context;
    this.#classes = classes;
    this.#secrets = secrets;
    this.#now = () => clock.now();
    this.#sources = {
      Ingress: sourceOf(informers.for(INGRESSES)),
      HostClaim: sourceOf(informers.for(HOST_CLAIMS)),
      IngressClass: sourceOf(informers.for(INGRESS_CLASSES)),
      Service: sourceOf(informers.for(SERVICES)),
      Secret: this.#secrets,
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
    const { Ingress, HostClaim, IngressClass, Service, Secret } = this.#sources;
    await Promise.all(
      [Ingress, HostClaim, IngressClass, Service, Secret, this.#policies].map(({ synced }) => synced),
    );
    for (const object of HostClaim.list()) this.#claims.put(ownershipOf(object));
    this.#classes.onChange((family) => this.#renew(family));
    for (const family of this.#classes.families.keys()) this.#renew(family);
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
    const routes = new FamilyRoutes(classNames, this.#now, this.#explainFor(classNames));
    const fill = <K extends FamilyKind>(kind: K): void => {
      for (const object of this.#sources[kind].list()) routes.put(kind, object);
    };
    for (const kind of ['IngressClass', 'HostClaim', 'Ingress', 'Service', 'Secret'] as const) fill(kind);
    return routes;
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
      return new Set(keys.filter((key) => key !== undefined));
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
