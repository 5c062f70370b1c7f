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

/** The one owner that decides about an object, if there is one. */
export const controllerOf = ({ metadata }: KubeObject): OwnerReference | undefined =>
  metadata.ownerReferences?.find((reference) => reference.controller === true);

export const isControlledBy = (object: KubeObject, owner: KubeObject): boolean =>
  controllerOf(object)?.uid === owner.metadata.uid;

/** The reference that makes `owner` the controller of whatever carries it. */
export const controllerReference = ({ apiVersion, kind, metadata }: KubeObject): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
  controller: true,
  blockOwnerDeletion: true,
});

/** Files objects by the uid of their controller, and those without one by namespace. */
export const indexByController = <T extends KubeObject>(informer: Informer<T>): void =>
  informer.addIndex(BY_CONTROLLER, controllerOrOrphanage);

export const indexByNamespace = <T extends KubeObject>(informer: Informer<T>): void =>
  informer.addIndex(BY_NAMESPACE, namespaceOf);

export const inNamespace = <T extends KubeObject>(cache: Cache<T>, namespace: string): T[] =>
  cache.byIndex(BY_NAMESPACE, namespace);

/** What `owner` controls. */
export const controlledBy = <T extends KubeObject>(cache: Cache<T>, owner: KubeObject): T[] =>
  cache.byIndex(BY_CONTROLLER, owner.metadata.uid ?? '');

/** What has the same controller as `object`, itself included; only itself when it has none. */
export function siblingsOf<T extends KubeObject>(cache: Cache<T>, object: T): T[] {
  const controller = controllerOf(object);
  return controller === undefined ? [object] : cache.byIndex(BY_CONTROLLER, controller.uid);
}

/** What `owner` controls, and what nobody does: all that it could claim. */
export const claimable = <T extends KubeObject>(cache: Cache<T>, owner: KubeObject): T[] => [
  ...controlledBy(cache, owner),
  ...cache.byIndex(BY_CONTROLLER, orphanage(owner)),
];

/**
 * For `Controller.watch`: the keys of the owners of this `kind` that a change of an object concerns. That is its
 * controller; or, while it has none, everybody whose selector matches it.
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

// Constants, since an informer is shared and takes an index of one name only from one function.
const controllerOrOrphanage = (object: KubeObject): string[] => [
  controllerOf(object)?.uid ?? orphanage(object),
];
const namespaceOf = ({ metadata }: KubeObject): string[] => [metadata.namespace ?? ''];
const orphanage = ({ metadata }: KubeObject): string => `orphans of ${metadata.namespace ?? ''}`;
