import type { Cache, Informer, Pod } from '@tidegate/kube';

const BY_NODE = 'nodes/nodeName';

/** One function for all who ask: a shared informer takes an index of one name only once. */
const nodeNameOf = ({ spec }: Pod): string[] => (spec?.nodeName ? [spec.nodeName] : []);

export const indexByNode = (pods: Informer<Pod>): void => pods.addIndex(BY_NODE, nodeNameOf);

export const podsOn = (cache: Cache<Pod>, nodeName: string): Pod[] => cache.byIndex(BY_NODE, nodeName);
