import type { Exchange, ResourceRequest } from '@tidegate/serving';
import type { Core } from '../operations/core.ts';
import type { UserInfo } from '../resources/types.ts';
import type { Served } from '../served/registry.ts';
import type { Shown } from './representation.ts';

/** An authenticated and authorized request for a resource, as the verbs receive it. */
export interface Call {
  core: Core;
  info: ResourceRequest;
  served: Served;
  query: URLSearchParams;
  representation: Shown;
  user: UserInfo;
  exchange: Exchange;
  /** Aborted when the server stops, to end watches. */
  signal: AbortSignal;
}

/** The object that the path of the request names. */
export function targetOf(call: Call): {
  served: Served;
  namespace: string;
  name: string;
  subresource: string;
} {
  const { served, info } = call;
  return { served, namespace: info.namespace, name: info.name, subresource: info.subresource };
}
