import {
  type DiscoveredResource,
  type GroupVersionKind,
  type KubeObject,
  parseApiVersion,
  UnknownKindError,
} from '@tidegate/kube';
import type { EdgeApplication } from '../../api/index.ts';
import { decodeManifests, dependsOnAuthor, type Manifest, manifestPath } from '../../apps/index.ts';
import type { AccessRequest } from '../access.ts';

/** Permissions that one manifest requires. */
export interface RequiredPermission {
  /** The path of the manifest. */
  readonly path: string;
  readonly verbs: readonly string[];
  readonly target: Omit<AccessRequest, 'verb'>;
}

/** Rejects with UnknownKindError if the cluster does not have the kind. */
export type ResourceOf = (kind: GroupVersionKind) => Promise<DiscoveredResource>;

/** More access reviews would not fit into the timeout of the webhook. */
const MAX_PERMISSIONS = 100;

/**
 * Server-side apply requires `patch`, and also `create` if the object does not exist. The manager deletes what it created
 * when the application no longer contains it, so the author also needs `delete`.
 */
const MANAGE = ['create', 'patch', 'delete'];

const RBAC = 'rbac.authorization.k8s.io';

/**
 * Returns the permissions that are required to create the objects of a valid application, without duplicates, or a
 * message if they cannot be determined. `author` describes the user that writes the application.
 */
export async function requiredPermissions(
  application: EdgeApplication,
  author: string,
  resourceOf: ResourceOf,
): Promise<RequiredPermission[] | string> {
  const resources = await resourcesOf(application, author, resourceOf);
  if (typeof resources === 'string') return resources;
  // Decoded with the controller's own function, so that the objects checked are the objects created.
  const { manifests, errors } = decodeManifests(application, (kind) =>
    resources.get(textOf(kind))?.namespaced ? 'Namespaced' : 'Cluster',
  );
  if (errors[0] !== undefined) return `${errors[0].path}: ${errors[0].message}`;
  const permissions = new Map<string, RequiredPermission>();
  for (const manifest of manifests) {
    for (const permission of permissionsFor(manifest, resources.get(textOf(kindOf(manifest.object)))!)) {
      const key = JSON.stringify([permission.target, permission.verbs]);
      if (!permissions.has(key)) permissions.set(key, permission);
    }
  }
  if (permissions.size <= MAX_PERMISSIONS) return [...permissions.values()];
  return `spec.workloadTemplate.manifests: the application has ${permissions.size} different combinations of kind and namespace, the limit is ${MAX_PERMISSIONS}: split it into several applications`;
}

/**
 * The permissions to delete the objects of the previous version, as far as the new version does not require them already.
 * Kinds that the cluster does not have any more have no objects.
 */
export async function permissionsToPrune(
  before: EdgeApplication | null | undefined,
  required: readonly RequiredPermission[],
  resourceOf: ResourceOf,
): Promise<RequiredPermission[] | string> {
  const manifests = [];
  for (const manifest of before?.spec?.workloadTemplate?.manifests ?? []) {
    const kind = kindOf(manifest as KubeObject);
    // The manager has created no such object.
    if (dependsOnAuthor(kind)) continue;
    const resource = await resourceOf(kind).catch(undefinedIfUnknown);
    if (resource !== undefined) manifests.push(manifest);
  }
  if (!before || manifests.length === 0) return [];
  const old = { ...before, spec: { ...before.spec, workloadTemplate: { manifests } } };
  const permissions = await requiredPermissions(old, '', resourceOf);
  if (typeof permissions === 'string') return permissions;
  const known = new Set(required.map(({ target }) => JSON.stringify(target)));
  return permissions
    .filter(({ verbs, target }) => verbs.includes('delete') && !known.has(JSON.stringify(target)))
    .map(({ target }) => ({ path: 'spec.workloadTemplate.manifests', verbs: ['delete'], target }));
}

/** Looks up each kind once. Stops at the first invalid one, because every unknown kind costs a discovery request. */
async function resourcesOf(
  { spec }: EdgeApplication,
  author: string,
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
      return `${path}: kind ${kind} of ${apiVersion} does not exist in the cluster, so the permissions of ${author} cannot be checked: install its CustomResourceDefinition first, or correct apiVersion and kind`;
    resources.set(textOf(gvk), resource);
  }
  return resources;
}

function permissionsFor(
  { ordinal, object }: Manifest,
  { group, resource }: DiscoveredResource,
): RequiredPermission[] {
  const path = manifestPath(ordinal);
  const { namespace } = object.metadata;
  const target = { group, resource, namespace };
  if (group !== RBAC) return [{ path, verbs: MANAGE, target }];
  // The API server allows a user to grant only permissions that the user has. It would check the manager here, so the
  // author needs the verbs `escalate` and `bind`, which skip that check. See RBAC, privilege escalation prevention.
  if (!resource.endsWith('bindings')) return [{ path, verbs: [...MANAGE, 'escalate'], target }];
  const bound = { group, namespace, ...roleIn(object) };
  return [
    { path, verbs: MANAGE, target },
    { path, verbs: ['bind'], target: bound },
  ];
}

/** Without a name, the permission is required for all roles. */
function roleIn({ roleRef }: KubeObject): { resource: string; name?: string } {
  const { kind, name } = (roleRef ?? {}) as { kind?: unknown; name?: unknown };
  const resource = kind === 'ClusterRole' ? 'clusterroles' : 'roles';
  return typeof name === 'string' ? { resource, name } : { resource };
}

function undefinedIfUnknown(error: unknown): undefined {
  if (!(error instanceof UnknownKindError)) throw error;
}

const kindOf = ({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): GroupVersionKind => ({
  ...parseApiVersion(apiVersion),
  kind,
});

const textOf = ({ group, version, kind }: GroupVersionKind): string => `${kind}.${version}.${group}`;
