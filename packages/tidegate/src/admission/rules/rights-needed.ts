import {
  type DiscoveredResource,
  type GroupVersionKind,
  type KubeObject,
  parseApiVersion,
  UnknownKindError,
} from '@tidegate/kube';
import { EDGE_APPLICATIONS, type EdgeApplication } from '../../api/index.ts';
import { decodeManifests, type Manifest, manifestPath } from '../../apps/index.ts';
import type { Action } from '../access.ts';

/** What somebody must be allowed to do, and the manifest because of which. */
export interface Need {
  readonly path: string;
  readonly verbs: readonly string[];
  readonly on: Omit<Action, 'verb'>;
}

/** Throws UnknownKindError. */
export type ResourceOf = (kind: GroupVersionKind) => Promise<DiscoveredResource>;

/** More could not be asked about while an API server waits. */
const MOST_NEEDS = 100;

/** To apply is to patch, and to create where there is nothing yet. */
const APPLY = ['create', 'patch'];

const RBAC = 'rbac.authorization.k8s.io';

/**
 * All that is needed to make the objects of an application that is valid, each once; or why nobody can say. `who`
 * writes it.
 */
export async function needsOf(
  application: EdgeApplication,
  who: string,
  resourceOf: ResourceOf,
): Promise<Need[] | string> {
  const resources = await resourcesOf(application, who, resourceOf);
  if (typeof resources === 'string') return resources;
  // Decoded as the controller does it, so that what is checked is what is made.
  const { manifests, errors } = decodeManifests(application, (kind) =>
    resources.get(textOf(kind))?.namespaced ? 'Namespaced' : 'Cluster',
  );
  if (errors[0] !== undefined) return `${errors[0].path}: ${errors[0].message}`;
  const needs = new Map<string, Need>();
  for (const manifest of manifests) {
    for (const need of needsOfManifest(manifest, resources.get(textOf(kindOf(manifest.object)))!)) {
      const key = JSON.stringify([need.on, need.verbs]);
      if (!needs.has(key)) needs.set(key, need);
    }
  }
  if (needs.size <= MOST_NEEDS) return [...needs.values()];
  return `spec.workloadTemplate.manifests: an application may have ${MOST_NEEDS} different pairs of a kind and a namespace at most, and this one has ${needs.size}: make several of it`;
}

/** By kind. Ends at the first that can not be in an application: each that is not known costs the server a look. */
async function resourcesOf(
  { spec }: EdgeApplication,
  who: string,
  resourceOf: ResourceOf,
): Promise<Map<string, DiscoveredResource> | string> {
  const resources = new Map<string, DiscoveredResource>();
  for (const [ordinal, manifest] of (spec.workloadTemplate?.manifests ?? []).entries()) {
    const { apiVersion, kind } = manifest as KubeObject;
    const gvk = kindOf({ apiVersion, kind });
    if (resources.has(textOf(gvk))) continue;
    const path = `${manifestPath(ordinal)}.kind`;
    const resource = await resourceOf(gvk).catch(undefinedIfUnknown);
    if (resource === undefined)
      return `${path}: the cluster has no kind ${kind} in ${apiVersion} yet, and so it can not be checked whether ${who} may make one: install what defines it first, or correct apiVersion and kind`;
    if (speaksForItsWriter(resource))
      return `${path}: an application can not have objects of kind ${kind}, since they would count as written by the manager and not by ${who}: write it yourself`;
    resources.set(textOf(gvk), resource);
  }
  return resources;
}

function needsOfManifest({ ordinal, object }: Manifest, { group, resource }: DiscoveredResource): Need[] {
  const path = manifestPath(ordinal);
  const { namespace } = object.metadata;
  const on = { group, resource, namespace };
  if (group !== RBAC) return [{ path, verbs: APPLY, on }];
  // The server looks whether whoever writes these has the rights that they give, and would look at the manager's.
  if (!resource.endsWith('bindings')) return [{ path, verbs: [...APPLY, 'escalate'], on }];
  const bound = { group, namespace, ...roleIn(object) };
  return [
    { path, verbs: APPLY, on },
    { path, verbs: ['bind'], on: bound },
  ];
}

/** Without a name it stands for all of them. */
function roleIn({ roleRef }: KubeObject): { resource: string; name?: string } {
  const { kind, name } = (roleRef ?? {}) as { kind?: unknown; name?: unknown };
  const resource = kind === 'ClusterRole' ? 'clusterroles' : 'roles';
  return typeof name === 'string' ? { resource, name } : { resource };
}

/** The server or we judge such objects by who writes them: in an application that would be the manager. */
const speaksForItsWriter = ({ group, resource }: DiscoveredResource): boolean =>
  group === 'certificates.k8s.io' ||
  (group === EDGE_APPLICATIONS.group && resource === EDGE_APPLICATIONS.resource);

function undefinedIfUnknown(error: unknown): undefined {
  if (!(error instanceof UnknownKindError)) throw error;
}

const kindOf = ({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): GroupVersionKind => ({
  ...parseApiVersion(apiVersion),
  kind,
});

const textOf = ({ group, version, kind }: GroupVersionKind): string => `${kind}.${version}.${group}`;
