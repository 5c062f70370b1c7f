import type { Exchange, Representation, ResourceRequest } from '@tidegate/serving';
import type { Core } from '../operations/core.ts';
import type { UserInfo } from '../resources/types.ts';
import type { Served } from '../served/registry.ts';

/** One request for a resource, authenticated and authorized: what the verbs work on. */
export interface Call {
  core: Core;
  info: ResourceRequest;
  served: Served;
  query: URLSearchParams;
  representation: Representation;
  user: UserInfo;
  exchange: Exchange;
  /** Ends watches when the server stops. */
  signal: AbortSignal;
}

/** What the path of the call names, for an operation on it. */
export function targetOf(call: Call): {
  served: Served;
  namespace: string;
  name: string;
  subresource: string;
} {
  const { served, info } = call;
  return { served, namespace: info.namespace, name: info.name, subresource: info.subresource };
}
