/** The fields of Endpoints and EndpointSlices that the server uses. */
import type { KubeObject } from '@tidegate/kube';

export interface EndpointAddress {
  ip?: string;
  hostname?: string;
  nodeName?: string;
}

export interface EndpointPort {
  name?: string;
  port?: number;
  protocol?: string;
  appProtocol?: string;
}

export interface EndpointSubset {
  addresses?: EndpointAddress[];
  notReadyAddresses?: EndpointAddress[];
  ports?: EndpointPort[];
}

export interface Endpoints extends KubeObject {
  subsets?: EndpointSubset[];
}

export interface SliceEndpoint {
  addresses?: string[];
  conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean };
  hostname?: string;
  nodeName?: string;
  zone?: string;
  deprecatedTopology?: Record<string, string>;
  hints?: { forZones?: { name?: string }[]; forNodes?: { name?: string }[] };
}

export interface EndpointSlice extends KubeObject {
  addressType?: string;
  endpoints?: SliceEndpoint[];
  ports?: EndpointPort[];
}
