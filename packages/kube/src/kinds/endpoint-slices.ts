import type { EndpointSlice } from './kinds.ts';

/** The label with which an EndpointSlice names its Service. */
export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';

/** `namespace/name` of the Service that a slice belongs to, or undefined if it belongs to none. */
export function serviceOfSlice({ metadata }: EndpointSlice): string | undefined {
  const name = metadata.labels?.[SERVICE_NAME_LABEL];
  return name === undefined ? undefined : `${metadata.namespace}/${name}`;
}
