/** `discovery.k8s.io/v1beta1`, in which zone and node are entries of a topology map. */
import type { KubeObject } from '@tidegate/kube';
import { builtinSchema } from '../../schema/builtin.ts';
import type { Schema } from '../../schema/types.ts';
import type { EndpointSlice, SliceEndpoint } from './types.ts';

const HOSTNAME = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';

interface LegacyEndpoint extends Omit<SliceEndpoint, 'zone' | 'deprecatedTopology'> {
  topology?: Record<string, string>;
}

const keepFilled = (map: Record<string, string>): Record<string, string> | undefined =>
  Object.keys(map).length === 0 ? undefined : map;

function toEndpoint({ topology = {}, ...endpoint }: LegacyEndpoint): SliceEndpoint {
  const { [ZONE]: zone, [HOSTNAME]: hostname, ...rest } = topology;
  const nodeName = endpoint.nodeName ?? hostname;
  // A hostname that differs from the node name is unusual but allowed, so it is kept.
  const odd: Record<string, string> =
    hostname !== undefined && hostname !== nodeName ? { [HOSTNAME]: hostname } : {};
  const deprecatedTopology = keepFilled({ ...rest, ...odd });
  return {
    ...endpoint,
    ...(nodeName !== undefined && { nodeName }),
    ...(zone !== undefined && { zone }),
    ...(deprecatedTopology && { deprecatedTopology }),
  };
}

function fromEndpoint({ zone, deprecatedTopology = {}, ...endpoint }: SliceEndpoint): LegacyEndpoint {
  const topology = keepFilled({
    ...(endpoint.nodeName !== undefined && { [HOSTNAME]: endpoint.nodeName }),
    ...deprecatedTopology,
    ...(zone !== undefined && { [ZONE]: zone }),
  });
  return { ...endpoint, ...(topology && { topology }) };
}

export const legacySliceConversion = {
  toStorage(object: KubeObject): KubeObject {
    const endpoints = object.endpoints as LegacyEndpoint[] | undefined;
    return {
      ...object,
      apiVersion: 'discovery.k8s.io/v1',
      ...(endpoints && { endpoints: endpoints.map(toEndpoint) }),
    };
  },
  fromStorage(object: KubeObject): KubeObject {
    const { endpoints } = object as EndpointSlice;
    return {
      ...object,
      apiVersion: 'discovery.k8s.io/v1beta1',
      ...(endpoints && { endpoints: endpoints.map(fromEndpoint) }),
    };
  },
};

export function legacySliceSchema(): Schema {
  const v1 = builtinSchema('discovery.k8s.io/v1', 'EndpointSlice');
  const endpoints = v1.properties?.endpoints ?? {};
  const { zone: _, deprecatedTopology: __, ...properties } = endpoints.items?.properties ?? {};
  const topology: Schema = { type: 'object', additionalProperties: { type: 'string' } };
  const items: Schema = { ...endpoints.items, properties: { ...properties, topology } };
  return { ...v1, properties: { ...v1.properties, endpoints: { ...endpoints, items } } };
}
