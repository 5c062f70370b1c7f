/** Authorization of requests: whether a user may perform an action. */
import { ApiError, forbidden } from '@tidegate/serving';
import type { UserInfo } from '../resources/types.ts';
import { MASTERS } from './identity.ts';

/** A request for a resource, in the terms of RBAC rules. */
export interface ResourceAttributes {
  verb: string;
  group: string;
  resource: string;
  subresource: string;
  /** '' for cluster-scoped requests and for requests over all namespaces. */
  namespace: string;
  /** '' if the request is not for a single object. A list or watch with `metadata.name=x` is for a single object. */
  name: string;
  /** The exact matches in the field selector of the request. */
  fields?: Readonly<Record<string, string>>;
}

/** A request that is not for a resource, for example `/metrics` or `/healthz`. */
export interface PathAttributes {
  verb: string;
  path: string;
}

export type Attributes = ResourceAttributes | PathAttributes;

export interface Decision {
  allowed: boolean;
  /** Why the request is allowed, or details of the denial. */
  reason: string;
}

/** Decides synchronously: everything that it needs is in memory. */
export interface Authorizer {
  authorize(user: UserInfo, attributes: Attributes): Decision;
}

export const isPath = (attributes: Attributes): attributes is PathAttributes => 'path' in attributes;

/** Allows a request if any of the authorizers allows it. Otherwise the reasons of all are combined. */
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

/** The 403 error of kube-apiserver. It names the user, the verb and the resource. */
export function forbiddenError(user: UserInfo, attributes: Attributes, reason: string): ApiError {
  const text = escapeHtml(describe(user, attributes)) + (reason === '' ? '' : `: ${reason}`);
  if (isPath(attributes)) return new ApiError(403, 'Forbidden', `forbidden: ${text}`, {});
  return forbidden({ group: attributes.group, resource: attributes.resource }, attributes.name, text);
}

/** Throws the same 403 error as kube-apiserver. */
export function requireAllowed(authorizer: Authorizer, user: UserInfo, attributes: Attributes): void {
  const decision = authorizer.authorize(user, attributes);
  if (!decision.allowed) throw forbiddenError(user, attributes, decision.reason);
}

function describe(user: UserInfo, attributes: Attributes): string {
  const action = `User ${JSON.stringify(user.username)} cannot ${attributes.verb}`;
  if (isPath(attributes)) return `${action} path ${JSON.stringify(attributes.path)}`;
  const { group, resource, subresource, namespace } = attributes;
  const what = JSON.stringify(subresource === '' ? resource : `${resource}/${subresource}`);
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  return `${action} resource ${what} in API group ${JSON.stringify(group)} ${where}`;
}

/** Paths and names come from the client and must not be interpreted as HTML. */
const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The group system:masters may do everything, so that a wrong RBAC rule cannot lock out the administrator. */
export const masters: Authorizer = {
  authorize: (user) => ({ allowed: user.groups.includes(MASTERS), reason: '' }),
};
