/**
 * The manager creates the objects of an application with its own permissions, in every namespace. To prevent privilege
 * escalation, the user that writes an application must have permission to create these objects directly.
 */

import { ApiStatusError, ConnectionError, DeadlineError, qualifiedName } from '@tidegate/kube';
import type { EdgeApplication } from '../../api/index.ts';
import type { Access, AccessRequest } from '../access.ts';
import type { UserInfo } from '../review.ts';
import {
  permissionsToPrune,
  type RequiredPermission,
  type ResourceOf,
  requiredPermissions,
} from './required-permissions.ts';

export interface PermissionSources {
  access: Access;
  discovery: { forKind: ResourceOf };
}

/**
 * Returns why this user must not write the application, or undefined if it is allowed. `before` is the application that is
 * replaced: the manager deletes what only it contains.
 */
export async function missingPermission(
  application: EdgeApplication,
  before: EdgeApplication | null | undefined,
  user: UserInfo,
  { access, discovery }: PermissionSources,
): Promise<string | undefined> {
  const author = authorOf(user);
  const resourceOf: ResourceOf = (kind) => discovery.forKind(kind);
  return await unlessUnreachable(user, async () => {
    const required = await requiredPermissions(application, author, resourceOf);
    if (typeof required === 'string') return required;
    const prune = await permissionsToPrune(before, required, resourceOf);
    if (typeof prune === 'string') return prune;
    const permissions = [...required, ...prune];
    const missing = await Promise.all(permissions.map((each) => missingVerbs(each, user, access)));
    const index = missing.findIndex((verbs) => verbs.length > 0);
    return index < 0 ? undefined : denial(permissions[index]!, missing[index]!, author);
  });
}

export const authorOf = ({ username }: UserInfo): string => `user ${JSON.stringify(username)}`;

/** Returns the result of the check, or why it was not possible: a permission that cannot be checked is not granted. */
export async function unlessUnreachable(
  user: UserInfo,
  check: () => Promise<string | undefined>,
): Promise<string | undefined> {
  try {
    return await check();
  } catch (error) {
    if (!isServerFailure(error)) throw error;
    return `the request is rejected because the permissions of ${authorOf(user)} could not be checked: ${error.message}; try again`;
  }
}

async function missingVerbs(
  { verbs, target }: RequiredPermission,
  user: UserInfo,
  access: Access,
): Promise<string[]> {
  const allowed = await Promise.all(verbs.map((verb) => access(user, { verb, ...target })));
  return verbs.filter((_, index) => !allowed[index]);
}

const denial = ({ path, target }: RequiredPermission, verbs: readonly string[], author: string): string =>
  `${path}: ${author} cannot ${verbs.join(' or ')} ${textOfTarget(target)}; an application can only create objects that ` +
  'its author can create and delete: grant the permission, or remove the manifest';

export function textOfTarget({ group, resource, namespace, name }: Omit<AccessRequest, 'verb'>): string {
  const what = qualifiedName({ group, resource }) + (name === undefined ? '' : ` ${JSON.stringify(name)}`);
  return `${what} in ${namespace === undefined ? 'the whole cluster' : `namespace ${JSON.stringify(namespace)}`}`;
}

const isServerFailure = (error: unknown): error is Error =>
  error instanceof ApiStatusError || error instanceof ConnectionError || error instanceof DeadlineError;
