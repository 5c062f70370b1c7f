import {
  type EndpointSlice,
  INGRESS_CLASSES,
  INGRESSES,
  type KubeObject,
  keyOf,
  type Resource,
  SERVICES,
} from '@tidegate/kube';
import { CLUSTER_ROUTE_POLICIES, HOST_CLAIMS, ROUTE_POLICIES } from '../api/index.ts';
import type { Compiler, Inputs } from '../ingress/compile/index.ts';
import { type PoolNodes, withoutOtherNodes } from '../ingress/pool-nodes.ts';
import { nodesOfSlice } from '../scope/index.ts';
import type { FollowedInformer, InformerSource } from './section-informers.ts';

interface FeedOptions {
  informers: InformerSource;
  compiler: Compiler;
  /** In the API version that the cluster serves. */
  slices: Resource<EndpointSlice>;
  /** Only endpoints on these nodes are used; undefined: all. */
  nodes: PoolNodes | undefined;
  /** Whether the cluster has HostClaims. */
  claims: boolean;
  /** Whether the cluster has RoutePolicies and ClusterRoutePolicies. */
  policies: boolean;
  touch(what: 'endpoints' | 'routes'): void;
  signal: AbortSignal;
}

/**
 * Gives all objects that routes depend on to the compiler, except Secrets and ConfigMaps. Resolves when all informers are synced.
 * `signal` ends what informers do not end: notifications about nodes of the pool.
 */
export async function feed({
  informers,
  compiler,
  slices: resource,
  nodes,
  claims,
  policies,
  touch,
  signal,
}: FeedOptions): Promise<void> {
  const follow = <K extends Exclude<keyof Inputs, 'Secret' | 'ConfigMap'>>(
    kind: K,
    resource: Resource<Inputs[K]>,
    what: 'endpoints' | 'routes',
    read: (object: Inputs[K]) => Inputs[K] = (object) => object,
  ): { informer: FollowedInformer<Inputs[K]>; put: (object: Inputs[K]) => void } => {
    const put = (object: Inputs[K]): void => {
      compiler.put(kind, read(object));
      touch(what);
    };
    const informer = informers.for(resource);
    informer.addHandler({
      onAdd: put,
      onUpdate: (_, object) => put(object),
      onDelete: (object: KubeObject) => {
        compiler.remove(kind, keyOf(object));
        touch(what);
      },
    });
    return { informer, put };
  };

  const slices = follow('EndpointSlice', resource, 'endpoints', (slice) => withoutOtherNodes(nodes, slice));
  if (nodes !== undefined) {
    // When a node joins or leaves the pool, its slices are filtered again. Their own objects have not changed.
    slices.informer.addIndex('node', indexByNode);
    const remove = nodes.onChange((node) => slices.informer.cache.byIndex('node', node).forEach(slices.put));
    signal.addEventListener('abort', remove, { once: true });
  }
  const others = [
    follow('Ingress', INGRESSES, 'routes'),
    follow('IngressClass', INGRESS_CLASSES, 'routes'),
    follow('Service', SERVICES, 'routes'),
    ...(claims ? [follow('HostClaim', HOST_CLAIMS, 'routes')] : []),
    ...(policies
      ? [
          follow('RoutePolicy', ROUTE_POLICIES, 'routes'),
          follow('ClusterRoutePolicy', CLUSTER_ROUTE_POLICIES, 'routes'),
        ]
      : []),
  ];
  await Promise.all([slices, ...others].map(({ informer }) => informer.synced));
}

const indexByNode = (slice: EndpointSlice): string[] => [...nodesOfSlice(slice)];
