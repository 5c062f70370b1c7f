import { EDGE_APPLICATIONS, type EdgeApplication } from '../../api/index.ts';
import { decodeManifests, type Manifest, manifestPath } from '../../apps/index.ts';
import {
  type DiscoveredResource,
  type GroupVersionKind,
  type KubeObject,
  parseApiVersion,
  UnknownKindError,
} from '../../kube/index.ts';
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
const MOST_PLACES = 100;

/** To apply is to patch, and to create where there is nothing yet. */
const APPLY = ['create', 'patch'];

const RBAC = 'rbac.authorization.k8s.io';

/** All that is needed to make the objects of the application, each once; or why they can not be made at all. */
export async function needsOf(
  application: EdgeApplication,
  who: string,
  resourceOf: ResourceOf,
): Promise<Need[] | string> {
  const resources = new Map<string, DiscoveredResource>();
  for (const [ordinal, manifest] of (application.spec.workloadTemplate?.manifests ?? []).entries()) {
    const { apiVersion, kind } = manifest as KubeObject;
    const gvk = { ...parseApiVersion(apiVersion), kind };
    if (resources.has(textOf(gvk))) continue;
    const path = `${manifestPath(ordinal)}.kind`;
    const resource = await known(gvk, resourceOf);
    if (resource === undefined)
      return `${path}: the cluster has no kind ${kind} in ${apiVersion} yet, and so it can not be checked whether ${who} may make one: install what defines it first, or correct apiVersion and kind`;
    if (isWordOfWriter(resource))
      return `${path}: an application can not have objects of kind ${kind}, since they would count as written by the manager and not by ${who}: write it yourself`;
    resources.set(textOf(gvk), resource);
  }
  // Decoded as the controller does it, so that what is checked is what is made.
  const { manifests, errors } = decodeManifests(application, (gvk) =>
    resources.get(textOf(gvk))?.namespaced ? 'Namespaced' : 'Cluster',
  );
  if (errors[0] !== undefined) return `${errors[0].path}: ${errors[0].message}`;
  const needs = new Map<string, Need>();
  for (const manifest of manifests) {
    const gvk = { ...parseApiVersion(manifest.object.apiVersion), kind: manifest.object.kind };
    for (const need of needsOfObject(manifest, resources.get(textOf(gvk))!)) {
      const key = JSON.stringify([need.on, need.verbs]);
      if (!needs.has(key)) needs.set(key, need);
    }
  }
  if (needs.size <= MOST_PLACES) return [...needs.values()];
  return `spec.workloadTemplate.manifests: an application may have ${MOST_PLACES} different pairs of a kind and a namespace at most, and this one has ${needs.size}: make several of it`;
}

function needsOfObject({ ordinal, object }: Manifest, { group, resource }: DiscoveredResource): Need[] {
  const path = manifestPath(ordinal);
  const { namespace } = object.metadata;
  const on = { group, resource, namespace };
  if (group !== RBAC) return [{ path, verbs: APPLY, on }];
  // The server looks whether whoever writes these has the rights that they give, and would look at the manager's.
  if (!resource.endsWith('bindings')) return [{ path, verbs: [...APPLY, 'escalate'], on }];
  const { kind, name } = (object.roleRef ?? {}) as { kind?: unknown; name?: unknown };
  const role = {
    group,
    resource: kind === 'ClusterRole' ? 'clusterroles' : 'roles',
    namespace,
    ...(typeof name === 'string' && { name }),
  };
  return [
    { path, verbs: APPLY, on },
    { path, verbs: ['bind'], on: role },
  ];
}

/** Such objects speak for whoever writes them: in an application that would be the manager. */
const isWordOfWriter = ({ group, resource }: DiscoveredResource): boolean =>
  group === 'certificates.k8s.io' ||
  (group === EDGE_APPLICATIONS.group && resource === EDGE_APPLICATIONS.resource);

async function known(gvk: GroupVersionKind, resourceOf: ResourceOf): Promise<DiscoveredResource | undefined> {
  try {
    return await resourceOf(gvk);
  } catch (error) {
    if (error instanceof UnknownKindError) return undefined;
    throw error;
  }
}

const textOf = ({ group, version, kind }: GroupVersionKind): string => `${kind}.${version}.${group}`;
