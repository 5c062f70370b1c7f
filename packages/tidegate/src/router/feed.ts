import {
  type EndpointSlice,
  INGRESS_CLASSES,
  INGRESSES,
  type Informer,
  type Informers,
  type KubeObject,
  keyOf,
  type Resource,
  SERVICES,
} from '@tidegate/kube';
import { HOST_CLAIMS } from '../api/index.ts';
import type { Compiler, Inputs } from '../ingress/compile/index.ts';
import { type PoolNodes, withoutOtherNodes } from '../ingress/pool-nodes.ts';
import { nodesOfSlice } from '../scope/index.ts';

interface FeedOptions {
  informers: Informers;
  compiler: Compiler;
  /** In the API version that the cluster serves. */
  slices: Resource<EndpointSlice>;
  /** Only endpoints on these nodes are used; undefined: all. */
  nodes: PoolNodes | undefined;
  /** Whether the cluster has HostClaims. */
  claims: boolean;
  touch(what: 'endpoints' | 'routes'): void;
}

/**
 * Gives all objects that routes depend on to the compiler, except Secrets. Resolves when all informers are synced.
 */
export async function feed({
  informers,
  compiler,
  slices: resource,
  nodes,
  claims,
  touch,
}: FeedOptions): Promise<void> {
  const follow = <K extends Exclude<keyof Inputs, 'Secret'>>(
    kind: K,
    resource: Resource<Inputs[K]>,
    what: 'endpoints' | 'routes',
    read: (object: Inputs[K]) => Inputs[K] = (object) => object,
  ): { informer: Informer<Inputs[K]>; put: (object: Inputs[K]) => void } => {
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
    slices.informer.addIndex('node', (slice) => [...nodesOfSlice(slice)]);
    nodes.onChange((node) => slices.informer.cache.byIndex('node', node).forEach(slices.put));
  }
  const others = [
    follow('Ingress', INGRESSES, 'routes'),
    follow('IngressClass', INGRESS_CLASSES, 'routes'),
    follow('Service', SERVICES, 'routes'),
    ...(claims ? [follow('HostClaim', HOST_CLAIMS, 'routes')] : []),
  ];
  await Promise.all([slices, ...others].map(({ informer }) => informer.synced));
}
