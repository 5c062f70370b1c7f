/** The question every request is put: may this user do that? */
import { ApiError, forbidden } from '@tidegate/serving';
import type { UserInfo } from '../resources/types.ts';
import { MASTERS } from './identity.ts';

export interface ResourceAttributes {
  verb: string;
  group: string;
  resource: string;
  subresource: string;
  /** '' for cluster-scoped requests and for requests over all namespaces. */
  namespace: string;
  /** '' when the request is not for one object. A list or watch of `metadata.name=x` is for one. */
  name: string;
  /** What the request's field selector says must be equal. */
  fields?: Readonly<Record<string, string>>;
}

/** A request outside the resources: `/metrics`, `/healthz`. */
export interface PathAttributes {
  verb: string;
  path: string;
}

export type Attributes = ResourceAttributes | PathAttributes;

export interface Decision {
  allowed: boolean;
  /** Why it is allowed; or, in the case of a refusal, whatever there is to add to it. */
  reason: string;
}

export interface Authorizer {
  authorize(user: UserInfo, attributes: Attributes): Decision;
}

export const isPath = (attributes: Attributes): attributes is PathAttributes => 'path' in attributes;

/** The first that allows decides; when none does, their remarks are put together. */
export function anyOf(...authorizers: Authorizer[]): Authorizer {
  return {
    authorize(user, attributes) {
      const reasons: string[] = [];
      for (const authorizer of authorizers) {
        const decision = authorizer.authorize(user, attributes);
        if (decision.allowed) return decision;
        if (decision.reason !== '') reasons.push(decision.reason);
      }
      return { allowed: false, reason: reasons.join('\n') };
    },
  };
}

export function forbiddenError(user: UserInfo, attributes: Attributes, reason: string): ApiError {
  const text = escapeHtml(describe(user, attributes)) + (reason === '' ? '' : `: ${reason}`);
  if (isPath(attributes)) return new ApiError(403, 'Forbidden', `forbidden: ${text}`, {});
  return forbidden({ group: attributes.group, resource: attributes.resource }, attributes.name, text);
}

/** Throws the 403 that the real server would answer with. */
export function requireAllowed(authorizer: Authorizer, user: UserInfo, attributes: Attributes): void {
  const decision = authorizer.authorize(user, attributes);
  if (!decision.allowed) throw forbiddenError(user, attributes, decision.reason);
}

function describe(user: UserInfo, attributes: Attributes): string {
  const who = `User ${JSON.stringify(user.username)} cannot ${attributes.verb}`;
  if (isPath(attributes)) return `${who} path ${JSON.stringify(attributes.path)}`;
  const { group, resource, subresource, namespace } = attributes;
  const what = JSON.stringify(subresource === '' ? resource : `${resource}/${subresource}`);
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  return `${who} resource ${what} in API group ${JSON.stringify(group)} ${where}`;
}

/** Paths and names come from the caller; the answer must not be taken for markup. */
const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The group that can always do everything, so that nobody can lock themselves out with RBAC. */
export const masters: Authorizer = {
  authorize: (user) => ({ allowed: user.groups.includes(MASTERS), reason: '' }),
};
