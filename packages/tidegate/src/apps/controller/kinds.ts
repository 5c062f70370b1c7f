import {
  type DiscoveredResource,
  type Discovery,
  type GroupVersionKind,
  isJsonMap,
  type KubeObject,
  UnknownKindError,
} from '@tidegate/kube';
import type { EdgeApplication } from '../../api/index.ts';
import { kindOf, type ScopeOf } from '../render/scopes.ts';

/** The kinds of an application's manifests, as the cluster's API discovery describes them. */
export class Kinds {
  readonly #resources: ReadonlyMap<string, DiscoveredResource | undefined>;

  private constructor(resources: ReadonlyMap<string, DiscoveredResource | undefined>) {
    this.#resources = resources;
  }

  /** Looks up the kinds of all manifests. Skips manifests without apiVersion or kind; rendering reports those. */
  static async of({ spec }: EdgeApplication, discovery: Discovery): Promise<Kinds> {
    const resources = new Map<string, DiscoveredResource | undefined>();
    for (const manifest of (spec.workloadTemplate?.manifests ?? []) as unknown[]) {
      const { apiVersion, kind } = isJsonMap(manifest) ? manifest : {};
      if (typeof apiVersion !== 'string' || typeof kind !== 'string') continue;
      const gvk = kindOf({ apiVersion, kind });
      if (!resources.has(textOf(gvk))) resources.set(textOf(gvk), await find(discovery, gvk));
    }
    return new Kinds(resources);
  }

  /** The scope of a kind; undefined if the cluster does not have it. */
  readonly scopeOf: ScopeOf = (gvk) => {
    const resource = this.#resources.get(textOf(gvk));
    return resource && (resource.namespaced ? 'Namespaced' : 'Cluster');
  };

  /** The resource that serves objects of this kind; undefined if the cluster does not have it. */
  resourceOf(object: Pick<KubeObject, 'apiVersion' | 'kind'>): DiscoveredResource | undefined {
    return this.#resources.get(textOf(kindOf(object)));
  }

  /** Whether the cluster does not have some of the kinds. Their CRDs may be installed later. */
  get hasUnknown(): boolean {
    return [...this.#resources.values()].includes(undefined);
  }
}

const textOf = ({ group, version, kind }: GroupVersionKind): string => `${kind}.${version}.${group}`;

async function find(discovery: Discovery, gvk: GroupVersionKind): Promise<DiscoveredResource | undefined> {
  try {
    return await discovery.forKind(gvk);
  } catch (error) {
    if (error instanceof UnknownKindError) return undefined;
    throw error;
  }
}
