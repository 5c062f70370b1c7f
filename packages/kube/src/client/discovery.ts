import { apiVersionOf, type GroupVersionKind, type KubeObject, parseApiVersion } from '../base/object.ts';
import { ApiStatusError } from './errors.ts';
import type { Resource } from './resource.ts';

/** A resource as the server describes it. */
export interface DiscoveredResource extends Resource {
  readonly kind: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  /** For example `status` and `scale`. */
  readonly subresources: readonly string[];
}

/** The server does not serve this kind. Its CustomResourceDefinition may be missing. */
export class UnknownKindError extends Error {
  constructor({ group, version, kind }: GroupVersionKind) {
    super(
      `the server has no kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersionOf(group, version))}`,
    );
    this.name = 'UnknownKindError';
  }
}

type Fetch = (path: string, accept: string) => Promise<unknown>;

const AGGREGATED =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json';

/**
 * The resources that the server serves. They are read when first needed, in two requests if the server supports
 * aggregated discovery, and read again when a kind is missing, because its CustomResourceDefinition may have been
 * installed meanwhile.
 */
export class Discovery {
  readonly #fetch: Fetch;
  #resources: Promise<readonly DiscoveredResource[]> | undefined;

  constructor(fetch: Fetch) {
    this.#fetch = fetch;
  }

  /** All resources, in the server's order of preference. */
  resources(): Promise<readonly DiscoveredResource[]> {
    if (this.#resources === undefined) {
      const reading = this.#read();
      this.#resources = reading;
      // Do not cache a failure.
      reading.catch(() => {
        if (this.#resources === reading) this.#resources = undefined;
      });
    }
    return this.#resources;
  }

  /** Reads the resources again when they are next needed. */
  invalidate(): void {
    this.#resources = undefined;
  }

  /** The resource of a kind. Throws UnknownKindError. */
  async forKind<T extends KubeObject = KubeObject>(
    gvk: GroupVersionKind,
  ): Promise<DiscoveredResource & Resource<T>> {
    const known = await this.#find((r) => isKind(r, gvk));
    if (known === undefined) throw new UnknownKindError(gvk);
    return known as DiscoveredResource & Resource<T>;
  }

  /** The resource of the kind of this object. Throws UnknownKindError. */
  async forObject<T extends KubeObject>(object: T): Promise<DiscoveredResource & Resource<T>> {
    return this.forKind<T>({ ...parseApiVersion(object.apiVersion), kind: object.kind });
  }

  /** Whether the server serves this resource, for example `endpointslices` of `discovery.k8s.io/v1`. */
  async serves({
    group,
    version,
    resource,
  }: Pick<Resource, 'group' | 'version' | 'resource'>): Promise<boolean> {
    const found = await this.#find(
      (r) => r.group === group && r.version === version && r.resource === resource,
    );
    return found !== undefined;
  }

  async #find(wanted: (resource: DiscoveredResource) => boolean): Promise<DiscoveredResource | undefined> {
    const cached = this.#resources !== undefined;
    const found = (await this.resources()).find(wanted);
    if (found !== undefined || !cached) return found;
    this.invalidate();
    return (await this.resources()).find(wanted);
  }

  async #read(): Promise<readonly DiscoveredResource[]> {
    const [core, groups] = await Promise.all([
      this.#fetch('/api', AGGREGATED),
      this.#fetch('/apis', AGGREGATED),
    ]);
    return [...(await this.#resourcesOf(core)), ...(await this.#resourcesOf(groups))];
  }

  async #resourcesOf(answer: unknown): Promise<readonly DiscoveredResource[]> {
    const { kind, items, versions, groups } = answer as {
      kind?: string;
      items?: AggregatedGroup[];
      versions?: string[];
      groups?: { versions: { groupVersion: string }[] }[];
    };
    if (kind === 'APIGroupDiscoveryList') return (items ?? []).flatMap(fromAggregated);
    const core = (versions ?? []).map((version) => ({ path: `/api/${version}`, groupVersion: version }));
    const named = (groups ?? []).flatMap((group) =>
      group.versions.map(({ groupVersion }) => ({ path: `/apis/${groupVersion}`, groupVersion })),
    );
    const lists = [...core, ...named].map(({ path, groupVersion }) => this.#plain(path, groupVersion));
    return (await Promise.all(lists)).flat();
  }

  /** A group that does not answer, for example an aggregated API that is down, must not hide the others. */
  async #plain(path: string, groupVersion: string): Promise<readonly DiscoveredResource[]> {
    try {
      const list = (await this.#fetch(path, 'application/json')) as { resources?: PlainResource[] };
      return fromPlain(groupVersion, list.resources ?? []);
    } catch (error) {
      if (error instanceof ApiStatusError) return [];
      throw error;
    }
  }
}

const isKind = (r: DiscoveredResource, { group, version, kind }: GroupVersionKind): boolean =>
  r.group === group && r.version === version && r.kind === kind;

interface AggregatedGroup {
  metadata?: { name?: string };
  versions?: { version: string; resources?: AggregatedResource[] }[];
}

interface AggregatedResource {
  resource: string;
  responseKind?: { kind?: string };
  scope: string;
  singularResource?: string;
  shortNames?: string[];
  categories?: string[];
  verbs?: string[];
  subresources?: { subresource: string }[];
}

function fromAggregated({ metadata, versions = [] }: AggregatedGroup): DiscoveredResource[] {
  return versions.flatMap(({ version, resources = [] }) =>
    resources.map((r) => ({
      group: metadata?.name ?? '',
      version,
      resource: r.resource,
      namespaced: r.scope === 'Namespaced',
      kind: r.responseKind?.kind ?? '',
      singular: r.singularResource ?? '',
      shortNames: r.shortNames ?? [],
      categories: r.categories ?? [],
      verbs: r.verbs ?? [],
      subresources: (r.subresources ?? []).map((s) => s.subresource),
    })),
  );
}

interface PlainResource {
  name: string;
  kind: string;
  namespaced: boolean;
  singularName?: string;
  shortNames?: string[];
  categories?: string[];
  verbs?: string[];
}

function fromPlain(groupVersion: string, resources: PlainResource[]): DiscoveredResource[] {
  const subresourcesOf = (name: string): string[] =>
    resources.filter((r) => r.name.startsWith(`${name}/`)).map((r) => r.name.slice(name.length + 1));
  return resources
    .filter((r) => !r.name.includes('/'))
    .map((r) => ({
      ...parseApiVersion(groupVersion),
      resource: r.name,
      namespaced: r.namespaced,
      kind: r.kind,
      singular: r.singularName ?? '',
      shortNames: r.shortNames ?? [],
      categories: r.categories ?? [],
      verbs: r.verbs ?? [],
      subresources: subresourcesOf(r.name),
    }));
}
