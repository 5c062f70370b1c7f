import type { EndpointSlice } from './kinds.ts';

/** The label of an EndpointSlice that names its Service. */
export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';

/** `namespace/name` of the Service of a slice; undefined if it has none. */
export function serviceOfSlice({ metadata }: EndpointSlice): string | undefined {
  const name = metadata.labels?.[SERVICE_NAME_LABEL];
  return name === undefined ? undefined : `${metadata.namespace}/${name}`;
}
