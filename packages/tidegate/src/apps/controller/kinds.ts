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

  /** Looks up the kinds of all manifests, also of older revisions. Skips manifests without apiVersion or kind; rendering reports those. */
  static async of(
    { spec }: EdgeApplication,
    discovery: Discovery,
    older: readonly Record<string, unknown>[] = [],
  ): Promise<Kinds> {
    const resources = new Map<string, DiscoveredResource | undefined>();
    const old = { workloadScope: {}, workloadTemplate: { manifests: [...older] } };
    for (const gvk of [...kindsOf(spec), ...kindsOf(old)]) {
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

/** The kinds of all manifests, as `Kind.group`, whatever their version. */
export const groupKinds = ({ spec }: EdgeApplication): string[] => [
  ...new Set(kindsOf(spec).map(({ kind, group }) => `${kind}.${group}`)),
];

/** Skips manifests without apiVersion or kind. */
function kindsOf(spec: EdgeApplication['spec']): GroupVersionKind[] {
  return ((spec.workloadTemplate?.manifests ?? []) as unknown[]).flatMap((manifest) => {
    const { apiVersion, kind } = isJsonMap(manifest) ? manifest : {};
    return typeof apiVersion === 'string' && typeof kind === 'string' ? [kindOf({ apiVersion, kind })] : [];
  });
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
