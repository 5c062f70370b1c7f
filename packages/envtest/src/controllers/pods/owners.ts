import {
  type Cache,
  type Informer,
  type KubeObject,
  keyOf,
  type LabelSelector,
  matcherFromSelector,
  type OwnerReference,
} from '@tidegate/kube';

const BY_CONTROLLER = 'workloads/controller';
const BY_NAMESPACE = 'workloads/namespace';

/** The owner that controls an object, if it has one. */
export const controllerOf = ({ metadata }: KubeObject): OwnerReference | undefined =>
  metadata.ownerReferences?.find((reference) => reference.controller === true);

/**
 * Compares by uid: an owner that was recreated with the same name does not control the objects of its predecessor.
 */
export const isControlledBy = (object: KubeObject, owner: KubeObject): boolean =>
  controllerOf(object)?.uid === owner.metadata.uid;

/** An owner reference that makes `owner` the controller of the object that has it. */
export const controllerReference = ({ apiVersion, kind, metadata }: KubeObject): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
  controller: true,
  blockOwnerDeletion: true,
});

/** Indexes objects by the uid of their controller, and orphans by namespace. */
export const indexByController = <T extends KubeObject>(informer: Informer<T>): void =>
  informer.addIndex(BY_CONTROLLER, controllerOrOrphanKey);

/** Must be called before `inNamespace`. */
export const indexByNamespace = <T extends KubeObject>(informer: Informer<T>): void =>
  informer.addIndex(BY_NAMESPACE, namespaceOf);

/** The cached objects of one namespace. */
export const inNamespace = <T extends KubeObject>(cache: Cache<T>, namespace: string): T[] =>
  cache.byIndex(BY_NAMESPACE, namespace);

/** The objects that `owner` controls. */
export const controlledBy = <T extends KubeObject>(cache: Cache<T>, owner: KubeObject): T[] =>
  cache.byIndex(BY_CONTROLLER, owner.metadata.uid ?? '');

/** The objects with the same controller as `object`, including itself; only itself when it has no controller. */
export function siblingsOf<T extends KubeObject>(cache: Cache<T>, object: T): T[] {
  const controller = controllerOf(object);
  return controller === undefined ? [object] : cache.byIndex(BY_CONTROLLER, controller.uid);
}

/** The objects that `owner` controls and the orphans in its namespace: everything that it could claim. */
export const claimable = <T extends KubeObject>(cache: Cache<T>, owner: KubeObject): T[] => [
  ...controlledBy(cache, owner),
  ...cache.byIndex(BY_CONTROLLER, orphanKey(owner)),
];

/**
 * For `Controller.watch`: the keys of the owners of this `kind` that an object concerns. That is its controller or,
 * for an orphan, every owner whose selector matches it.
 */
export function keysOfOwners<T extends KubeObject>(
  owners: Informer<T>,
  kind: string,
  selectorOf: (owner: T) => LabelSelector | undefined,
): (object: KubeObject) => string[] {
  indexByNamespace(owners);
  return (object) => {
    const controller = controllerOf(object);
    const { namespace = '', labels } = object.metadata;
    if (controller !== undefined) return controller.kind === kind ? [`${namespace}/${controller.name}`] : [];
    return inNamespace(owners.cache, namespace)
      .filter((owner) => matcherFromSelector(selectorOf(owner)).matches(labels))
      .map(keyOf);
  };
}

// Module constants, because a shared informer accepts an index name only with the same function.
const controllerOrOrphanKey = (object: KubeObject): string[] => [
  controllerOf(object)?.uid ?? orphanKey(object),
];
const namespaceOf = ({ metadata }: KubeObject): string[] => [metadata.namespace ?? ''];
const orphanKey = ({ metadata }: KubeObject): string => `orphans of ${metadata.namespace ?? ''}`;
