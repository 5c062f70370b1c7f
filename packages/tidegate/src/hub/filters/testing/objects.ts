import type { KubeObject } from '@tidegate/kube';

type Texts = Record<string, string>;

export const service = (
  name: string,
  { annotations, labels, ...spec }: { annotations?: Texts; labels?: Texts; type?: string } = {},
): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'shop', name, ...(annotations && { annotations }), ...(labels && { labels }) },
  spec,
});

/** An EndpointSlice with one endpoint for each node. Undefined: an endpoint without a node. */
export const slice = (ofService: string, nodes: readonly (string | undefined)[]): KubeObject => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    namespace: 'shop',
    name: `${ofService}-x1`,
    labels: { 'kubernetes.io/service-name': ofService },
  },
  addressType: 'IPv4',
  endpoints: nodes.map((nodeName, i) => ({ addresses: [`10.0.0.${i}`], ...(nodeName && { nodeName }) })),
  ports: [{ name: 'web', port: 80 }],
});

/** An Endpoints object with one address for each node. */
export const endpoints = (ofService: string, nodes: readonly (string | undefined)[]): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { namespace: 'shop', name: ofService },
  subsets: [
    {
      addresses: nodes.map((nodeName, i) => ({ ip: `10.0.0.${i}`, ...(nodeName && { nodeName }) })),
      ports: [{ name: 'web', port: 80 }],
    },
  ],
});

export const nodePool = (name: string, nodes: readonly string[]): KubeObject => ({
  apiVersion: 'apps.openyurt.io/v1beta2',
  kind: 'NodePool',
  metadata: { name },
  status: { nodes },
});

export const nodeGroup = (name: string, containedNodes: readonly string[]): KubeObject => ({
  apiVersion: 'apps.kubeedge.io/v1alpha1',
  kind: 'NodeGroup',
  metadata: { name },
  status: { containedNodes },
});
