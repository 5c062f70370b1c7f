import {
  type EndpointSlice,
  INGRESS_CLASSES,
  INGRESSES,
  type Informer,
  type KubeObject,
  keyOf,
  NODES,
  orAborted,
  SERVICES,
} from '@tidegate/kube';
import { CLUSTER_ROUTE_POLICIES, HOST_CLAIMS, type L7Router, ROUTE_POLICIES } from '../../api/index.ts';
import { classesOf } from '../classes/index.ts';
import { Compiler, type Inputs } from '../compile/index.ts';
import type { IngressContext } from '../context.ts';
import { endpointSlices, nodeOfEndpoint } from '../endpoint-slices.ts';
import { type Departures, placedFamilyOf } from '../host-placement/index.ts';
import { PoolNodes, withoutOtherNodes } from '../pool-nodes.ts';
import type { RouterSnapshot } from '../provisioners/index.ts';
import type { TlsSecrets } from '../tls-secrets.ts';
import { nodePortEndpoints } from './node-ports.ts';
import { RouterRoutes } from './router-routes.ts';

interface Compiled {
  readonly routes: RouterRoutes;
  /** Classes, pool and kind of endpoints. If they change, the router is compiled anew. */
  readonly madeFrom: string;
  /** Key of the family that the router was placed for. */
  readonly family: string;
  readonly nodes: PoolNodes | undefined;
  readonly endpoints: 'pods' | 'nodePorts';
  /** Nodes or Services have changed, and with them the node ports. */
  portsChanged: boolean;
}

/**
 * The routes of the routers that the manager programs, each with a compiler of its own, as in the agent of a router. The
 * informers of EndpointSlices start with the first such router: other managers need no cache of all endpoints.
 */
export class RouterSnapshots {
  readonly #context: IngressContext;
  readonly #secrets: TlsSecrets;
  readonly #departures: Departures;
  readonly #compiled = new Map<string, Compiled>();
  readonly #listeners: ((router: string) => void)[] = [];
  #slices: Informer<EndpointSlice> | undefined;
  #following: Promise<void> | undefined;

  constructor(context: IngressContext, secrets: TlsSecrets, departures: Departures) {
    this.#context = context;
    this.#secrets = secrets;
    this.#departures = departures;
  }

  /** The listener is called with each router whose routes may have changed. */
  onChange(listener: (router: string) => void): void {
    this.#listeners.push(listener);
  }

  /** The current routes. Undefined if nothing has changed since `applied`. */
  async take(
    router: L7Router,
    endpoints: 'pods' | 'nodePorts',
    signal: AbortSignal,
  ): Promise<RouterSnapshot | undefined> {
    this.#following ??= this.#follow(signal);
    await orAborted(this.#following, signal);
    const compiled = await this.#compiledOf(router, endpoints, signal);
    const { routes } = compiled;
    routes.setHosts(router.spec.hosts);
    this.#setDeparting(compiled);
    replacePorts(compiled);
    return routes.take(router.metadata.generation ?? 0);
  }

  /** Whether the routes have changed since the last `take`. */
  isOutdated(router: string): boolean {
    const compiled = this.#compiled.get(router);
    if (compiled === undefined) return true;
    replacePorts(compiled);
    return compiled.routes.isOutdated;
  }

  /** The provisioner has programmed the last snapshot. `again`: the next `take` returns a snapshot in any case. */
  applied(router: string, again: boolean): void {
    this.#compiled.get(router)?.routes.applied(again);
  }

  /** The load balancer may have any part of the last snapshot: the next one is complete. */
  failed(router: string): void {
    this.#compiled.get(router)?.routes.failed();
  }

  drop(router: string): void {
    this.#compiled.delete(router);
  }

  async #compiledOf(
    router: L7Router,
    endpoints: 'pods' | 'nodePorts',
    signal: AbortSignal,
  ): Promise<Compiled> {
    const name = `${router.metadata.name}`;
    const { pool } = router.spec;
    const madeFrom = JSON.stringify([router.metadata.uid, classesOf(router), pool, endpoints]);
    const known = this.#compiled.get(name);
    if (known?.madeFrom === madeFrom) return known;
    const { informers, clock } = this.#context;
    const nodes = pool === undefined ? undefined : new PoolNodes(informers, pool);
    await orAborted(nodes?.synced ?? Promise.resolve(), signal);
    const compiler = new Compiler({
      classNames: classesOf(router),
      hosts: [],
      claimsRequired: true,
      // The manager creates routers only for classes of known provisioners.
      isOurs: () => true,
      now: () => clock.now(),
    });
    const replace =
      endpoints === 'nodePorts'
        ? nodePortEndpoints(informers.for(SERVICES).cache, informers.for(NODES).cache)
        : undefined;
    const routes = new RouterRoutes(compiler, replace);
    const family = placedFamilyOf(router) ?? '';
    const compiled = { routes, madeFrom, family, nodes, endpoints, portsChanged: false };
    this.#setDeparting(compiled);
    const fill = <K extends keyof Inputs>(kind: K, objects: Iterable<Inputs[K]>): void => {
      for (const object of objects) put(compiled, kind, object);
    };
    // Policies come before Ingresses, so that those are read once.
    fill('ClusterRoutePolicy', informers.for(CLUSTER_ROUTE_POLICIES).cache.list());
    fill('RoutePolicy', informers.for(ROUTE_POLICIES).cache.list());
    fill('IngressClass', informers.for(INGRESS_CLASSES).cache.list());
    fill('HostClaim', informers.for(HOST_CLAIMS).cache.list());
    fill('Ingress', informers.for(INGRESSES).cache.list());
    fill('Service', informers.for(SERVICES).cache.list());
    fill('EndpointSlice', this.#slices?.cache.list() ?? []);
    fill('Secret', this.#secrets.list());
    nodes?.onChange((node) => this.#poolChanged(name, nodes, node));
    this.#compiled.set(name, compiled);
    return compiled;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { client, informers, clock, log } = this.#context;
    const slices = informers.for(await endpointSlices({ client, clock, random: Math.random, log }, signal));
    slices.addIndex('ingress/slice-node', (slice) =>
      (slice.endpoints ?? []).flatMap((endpoint) => nodeOfEndpoint(endpoint) ?? []),
    );
    this.#slices = slices;
    const sources = {
      Ingress: informers.for(INGRESSES),
      IngressClass: informers.for(INGRESS_CLASSES),
      HostClaim: informers.for(HOST_CLAIMS),
      Service: informers.for(SERVICES),
      EndpointSlice: slices,
      RoutePolicy: informers.for(ROUTE_POLICIES),
      ClusterRoutePolicy: informers.for(CLUSTER_ROUTE_POLICIES),
    };
    await Promise.all([...Object.values(sources), informers.for(NODES)].map(({ synced }) => synced));
    this.#feed('Ingress', sources.Ingress);
    this.#feed('IngressClass', sources.IngressClass);
    this.#feed('HostClaim', sources.HostClaim);
    this.#feed('Service', sources.Service);
    this.#feed('EndpointSlice', sources.EndpointSlice);
    this.#feed('Secret', this.#secrets);
    this.#feed('RoutePolicy', sources.RoutePolicy);
    this.#feed('ClusterRoutePolicy', sources.ClusterRoutePolicy);
    const ports = (): void => this.#portsChanged();
    informers.for(NODES).addHandler({ onAdd: ports, onUpdate: ports, onDelete: ports });
    sources.Service.addHandler({ onAdd: ports, onUpdate: ports, onDelete: ports });
  }

  #feed<K extends keyof Inputs>(kind: K, source: Pick<Informer<Inputs[K]>, 'addHandler'> | TlsSecrets): void {
    const each = (change: (compiled: Compiled) => void): void => {
      for (const [router, compiled] of this.#compiled) {
        // An Ingress that has just changed its class is still served.
        if (kind === 'Ingress') this.#setDeparting(compiled);
        change(compiled);
        if (compiled.routes.flush()) this.#changed(router);
      }
    };
    const handler = {
      onAdd: (object: Inputs[K]) => each((compiled) => put(compiled, kind, object)),
      onUpdate: (_: Inputs[K], object: Inputs[K]) => each((compiled) => put(compiled, kind, object)),
      onDelete: (object: KubeObject) => each(({ routes }) => routes.compiler.remove(kind, keyOf(object))),
    };
    (source as Pick<Informer<Inputs[K]>, 'addHandler'>).addHandler(handler);
  }

  #setDeparting({ routes, family }: Compiled): void {
    const { compiler } = routes;
    const ingresses = this.#context.informers.for(INGRESSES).cache;
    for (const key of compiler.setDeparting(this.#departures.departingFrom(family))) {
      const ingress = ingresses.get(key);
      if (ingress === undefined) compiler.remove('Ingress', key);
      else compiler.put('Ingress', ingress);
    }
  }

  #poolChanged(router: string, nodes: PoolNodes, node: string): void {
    const compiled = this.#compiled.get(router);
    if (compiled?.nodes !== nodes) return;
    for (const slice of this.#slices?.cache.byIndex('ingress/slice-node', node) ?? [])
      put(compiled, 'EndpointSlice', slice);
    if (compiled.routes.flush()) this.#changed(router);
  }

  #portsChanged(): void {
    for (const [router, compiled] of this.#compiled) {
      if (compiled.endpoints !== 'nodePorts') continue;
      compiled.portsChanged = true;
      this.#changed(router);
    }
  }

  #changed(router: string): void {
    for (const listener of this.#listeners) listener(router);
  }
}

function replacePorts(compiled: Compiled): void {
  if (compiled.portsChanged) compiled.routes.changeAllUpstreams();
  compiled.portsChanged = false;
}

function put<K extends keyof Inputs>({ routes, nodes }: Compiled, kind: K, object: Inputs[K]): void {
  const seen = kind === 'EndpointSlice' ? withoutOtherNodes(nodes, object as EndpointSlice) : object;
  routes.compiler.put(kind, seen as Inputs[K]);
}
