import type { IncomingHttpHeaders } from 'node:http';
import type { Resource } from '@tidegate/kube';
import type { Exchange, RequestInfo, ResourceRequest } from '@tidegate/serving';
import type { Identity } from '../identity/identity.ts';

/** One request on its way through the hub. */
export interface Call<I extends RequestInfo = RequestInfo> {
  readonly exchange: Exchange;
  readonly url: URL;
  readonly info: I;
  readonly identity: Identity;
  /** Which program asks; decides filters, never rights. */
  readonly component: string;
  /** Aborted when the client is gone or the hub stops. */
  readonly signal: AbortSignal;
}

export type ResourceCall = Call<ResourceRequest>;

/** What the path names. Without a namespace in it, it may be all namespaces or none: the paths are the same. */
export function resourceOf({ group, version, resource, namespace }: ResourceRequest): Resource {
  return { group, version, resource, namespaced: namespace !== '' && !isNamespaceItself(group, resource) };
}

/** The namespace that an object lies in. Of a namespace itself, the path says its own name there. */
export const namespaceOf = ({ group, resource, namespace }: ResourceRequest): string =>
  isNamespaceItself(group, resource) ? '' : namespace;

const isNamespaceItself = (group: string, resource: string): boolean =>
  group === '' && resource === 'namespaces';

/** Whether it speaks for somebody else than it is. Only the API server can tell whether that is allowed. */
export const impersonates = (headers: IncomingHttpHeaders): boolean =>
  Object.keys(headers).some((name) => name.startsWith('impersonate-'));
