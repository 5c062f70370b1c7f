import {
  type EndpointSlice,
  type Endpoints,
  type KubeObject,
  keyOf,
  type Resource,
  serviceOfSlice,
} from '@tidegate/kube';
import type { Correction, CorrectionListener } from '../projections/index.ts';
import { type DeriveOptions, deriveEndpoints, deriveSlice, type Knowledge, podsIn } from './derive.ts';
import type { PodReport } from './pod-report.ts';

/** What the Service of endpoints decides about them. */
export interface ServiceFacts {
  /** Its endpoints are its pods. Otherwise a user or another controller writes them. */
  readonly selectsPods: boolean;
  /** Pods that are not ready are endpoints, too. */
  readonly publishesNotReady: boolean;
}

/** The pods of one node, as its kubelet has reported them. */
export interface NodeReports {
  /** Whether the reports count, and contain all pods of the node. */
  readonly known: boolean;
  /** Whether the node does not answer in the site. Its pods are not ready, whatever it has reported. */
  readonly lost: boolean;
  /** By uid. A pod that is not listed is not an endpoint. Null: the pod exists, and nothing else is known about it. */
  readonly reports: ReadonlyMap<string, PodReport | null>;
}

export interface SiteOptions {
  /** Whether reports of any node count. */
  inForce(): boolean;
  /** The reports of a node. Undefined: none count, and endpoints on the node stay as the API server sent them. */
  reportsOf(node: string): NodeReports | undefined;
  /** Whether reports of the node may ever count: it is this node, or one of the same pool. */
  isInSite(node: string): boolean;
  /** Undefined: the Service is not known. */
  serviceFacts(key: string): ServiceFacts | undefined;
}

/** The dependency of objects with endpoints on nodes that are not in the site. */
const NODES_OF_SITE = 'nodes-of-site';
const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
const CONTROLLER = 'endpointslice-controller.k8s.io';

/** Corrects endpoints with the reports of kubelets. Endpoints on other nodes stay as the API server sent them. */
export class Site implements Correction {
  readonly #options: SiteOptions;
  readonly #listeners = new Set<CorrectionListener>();

  constructor(options: SiteOptions) {
    this.#options = options;
  }

  appliesTo({ group, resource }: Resource): boolean {
    return resource === 'endpointslices'
      ? group === 'discovery.k8s.io'
      : group === '' && resource === 'endpoints';
  }

  /** Whether endpoints may differ from what the API server sent. */
  corrects(resource: Resource): boolean {
    return this.#options.inForce() && this.appliesTo(resource);
  }

  apply(object: KubeObject): KubeObject {
    if (!this.#options.inForce()) return object;
    const isSlice = object.kind === 'EndpointSlice';
    if (isSlice && object.metadata.labels?.[MANAGED_BY] !== CONTROLLER) return object;
    const key = serviceOf(object);
    const facts = key === undefined ? undefined : this.#options.serviceFacts(key);
    if (facts?.selectsPods !== true) return object;
    const options: DeriveOptions = {
      lookUp: ({ node, uid }) => this.#lookUp(node, uid),
      publishNotReady: facts.publishesNotReady,
    };
    return isSlice
      ? deriveSlice(object as EndpointSlice, options)
      : deriveEndpoints(object as Endpoints, options);
  }

  dependsOn(object: KubeObject): string[] {
    const all = podsIn(object as EndpointSlice | Endpoints);
    const pods = all.filter(({ node }) => this.#options.isInSite(node));
    const service = serviceOf(object);
    if (all.length === 0 || service === undefined) return [];
    const nodes = new Set(pods.map(({ node }) => `reports-of:${node}`));
    const own =
      pods.length === 0 ? [] : [`service:${service}`, ...pods.map(({ uid }) => `pod:${uid}`), ...nodes];
    return pods.length === all.length ? own : [...own, NODES_OF_SITE];
  }

  subscribe(listener: CorrectionListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The reports of the pods with these uids have changed. */
  podsChanged(uids: ReadonlySet<string>): void {
    this.#notify(Array.from(uids, (uid) => `pod:${uid}`));
  }

  /** The reports of all pods of the node may have changed, or count now, or do not count any more. */
  nodeChanged(node: string): void {
    this.#notify([`reports-of:${node}`]);
  }

  /** Other nodes are in the site now. */
  nodesChanged(): void {
    this.#notify([NODES_OF_SITE]);
  }

  #notify(dependencies: readonly string[]): void {
    if (dependencies.length === 0) return;
    for (const listener of [...this.#listeners]) listener(new Set(dependencies));
  }

  #lookUp(node: string, uid: string): Knowledge {
    const known = this.#options.reportsOf(node);
    if (known?.lost === true) return 'lost';
    if (known?.known !== true) return 'unheard';
    const report = known.reports.get(uid);
    if (report === null) return 'unheard';
    return report ?? 'gone';
  }
}

const serviceOf = (object: KubeObject): string | undefined =>
  object.kind === 'EndpointSlice' ? serviceOfSlice(object as EndpointSlice) : keyOf(object);

/** Reads what matters here from a Service. */
export function factsOf({ metadata, spec }: Pick<KubeObject, 'metadata'> & { spec?: unknown }): ServiceFacts {
  const { selector, publishNotReadyAddresses } = (spec ?? {}) as {
    selector?: Record<string, string>;
    publishNotReadyAddresses?: boolean;
  };
  return {
    selectsPods: Object.keys(selector ?? {}).length > 0,
    publishesNotReady:
      publishNotReadyAddresses === true ||
      metadata.annotations?.['service.alpha.kubernetes.io/tolerate-unready-endpoints'] === 'true',
  };
}
