/**
 * The manager makes the objects of an application with its own rights, in every namespace. So that nobody gets more
 * out of it than they have, whoever writes an application must be allowed to make those objects themselves.
 */

import { ApiStatusError, ConnectionError, DeadlineError, qualifiedName } from '@tidegate/kube';
import type { EdgeApplication } from '../../api/index.ts';
import type { Access, Action } from '../access.ts';
import type { UserInfo } from '../review.ts';
import { type Need, needsOf, type ResourceOf } from './rights-needed.ts';

export interface Rights {
  access: Access;
  discovery: { forKind: ResourceOf };
}

/** Why this user may not write the application; undefined when they may. */
export async function refusalOf(
  application: EdgeApplication,
  user: UserInfo,
  { access, discovery }: Rights,
): Promise<string | undefined> {
  const who = `user ${JSON.stringify(user.username)}`;
  try {
    const needs = await needsOf(application, who, (kind) => discovery.forKind(kind));
    if (typeof needs === 'string') return needs;
    const missing = await Promise.all(needs.map((need) => missingVerbs(need, user, access)));
    const index = missing.findIndex((verbs) => verbs.length > 0);
    return index < 0 ? undefined : sentence(needs[index]!, missing[index]!, who);
  } catch (error) {
    if (!isFailureOfServer(error)) throw error;
    return `whether ${who} may make the objects of the application could not be checked, so it is refused; try again: ${error.message}`;
  }
}

async function missingVerbs({ verbs, on }: Need, user: UserInfo, access: Access): Promise<string[]> {
  const allowed = await Promise.all(verbs.map((verb) => access(user, { verb, ...on })));
  return verbs.filter((_, index) => !allowed[index]);
}

const sentence = ({ path, on }: Need, verbs: readonly string[], who: string): string =>
  `${path}: ${who} may not ${verbs.join(' and ')} ${textOf(on)}, and so no application that they write may ` +
  'either: have that right given to them, or leave the manifest out';

function textOf({ group, resource, namespace, name }: Omit<Action, 'verb'>): string {
  const what = qualifiedName({ group, resource }) + (name === undefined ? '' : ` ${JSON.stringify(name)}`);
  return `${what} in ${namespace === undefined ? 'the whole cluster' : `namespace ${JSON.stringify(namespace)}`}`;
}

const isFailureOfServer = (error: unknown): error is Error =>
  error instanceof ApiStatusError || error instanceof ConnectionError || error instanceof DeadlineError;
