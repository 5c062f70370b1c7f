import type { Cache, Informer, Pod } from '@tidegate/kube';

const BY_NODE = 'nodes/nodeName';

/** A module constant, because a shared informer accepts an index name only with the same function. */
const nodeNameOf = ({ spec }: Pod): string[] => (spec?.nodeName ? [spec.nodeName] : []);

/** Must be called before `podsOn`. */
export const indexByNode = (pods: Informer<Pod>): void => pods.addIndex(BY_NODE, nodeNameOf);

/** The pods that are bound to the node. */
export const podsOn = (cache: Cache<Pod>, nodeName: string): Pod[] => cache.byIndex(BY_NODE, nodeName);
