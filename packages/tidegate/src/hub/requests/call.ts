import type { IncomingHttpHeaders } from 'node:http';
import type { Resource } from '@tidegate/kube';
import type { Exchange, RequestInfo, ResourceRequest } from '@tidegate/serving';
import type { Chain } from '../filters/index.ts';
import type { Identity } from '../identity/index.ts';

/** An authenticated request on its way through the hub. */
export interface Call<I extends RequestInfo = RequestInfo> {
  readonly exchange: Exchange;
  readonly url: URL;
  readonly info: I;
  readonly identity: Identity;
  /** The program that sent the request, see `componentOf`. It selects filters; it never grants access. */
  readonly component: string;
  /** Aborted when the client disconnects or the hub shuts down. */
  readonly signal: AbortSignal;
}

export type ResourceCall = Call<ResourceRequest>;

/** The filters that apply to a call at this moment. The filter configuration may change while a watch is open. */
export type ChainFor = (call: ResourceCall) => Chain;

/**
 * The component named by a User-Agent header: `kube-proxy` for `kube-proxy/v1.36.4 (linux/amd64)`. A client can claim
 * any name, so the name must not decide what the client is allowed to read.
 */
export function componentOf(userAgent: string | undefined): string {
  const [name = ''] = (userAgent ?? '').split('/', 1);
  return name.trim().toLowerCase();
}

/**
 * The resource that the path names. A path without a namespace looks the same for a cluster-scoped resource and for a
 * namespaced resource in all namespaces; `namespaced` is false for both.
 */
export function resourceOf({ group, version, resource, namespace }: ResourceRequest): Resource {
  return { group, version, resource, namespaced: namespace !== '' && !isNamespaceItself(group, resource) };
}

/**
 * The namespace of the requested objects. For a Namespace object, the path has its own name in that position.
 */
export const namespaceOf = ({ group, resource, namespace }: ResourceRequest): string =>
  isNamespaceItself(group, resource) ? '' : namespace;

const isNamespaceItself = (group: string, resource: string): boolean =>
  group === '' && resource === 'namespaces';

/** Whether the request asks for impersonation. Only the API server can authorize that. */
export const impersonates = (headers: IncomingHttpHeaders): boolean =>
  Object.keys(headers).some((name) => name.startsWith('impersonate-'));
