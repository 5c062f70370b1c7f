import { type KubeObject, keyOf, type OwnerReference } from '@tidegate/kube';
import {
  APPS_FIELD_MANAGER,
  EDGE_APPLICATION_LABEL,
  EDGE_APPLICATION_NAMESPACE_LABEL,
  type EdgeApplication,
  type ResourceIdentifier,
  YURT_APP_SETS,
} from '../../api/index.ts';

/** The key of the application that the labels of an object name. */
export function ownerOf({ metadata: { labels = {} } }: KubeObject): string | undefined {
  const name = labels[EDGE_APPLICATION_LABEL];
  const namespace = labels[EDGE_APPLICATION_NAMESPACE_LABEL];
  return name === undefined || namespace === undefined ? undefined : `${namespace}/${name}`;
}

/**
 * Whether an existing object belongs to the application. Normally its labels name the application. If a user removed the
 * labels, the owner reference counts, or a managed field of our field manager if the status lists the object
 * (`recorded`). Objects that do not belong to the application are never changed or deleted.
 */
export function isOwnedBy(object: KubeObject, application: EdgeApplication, recorded: boolean): boolean {
  const owner = ownerOf(object);
  if (owner !== undefined) return owner === keyOf(application);
  const { ownerReferences = [], managedFields = [] } = object.metadata;
  return (
    ownerReferences.some(({ uid }) => uid === application.metadata.uid) ||
    isTakenOver(object, application) ||
    (recorded &&
      managedFields.some(({ manager, operation }) => manager === APPS_FIELD_MANAGER && operation === 'Apply'))
  );
}

/** An entry of the status. */
export interface Recorded {
  readonly identifier: ResourceIdentifier;
  /** The object did not exist, and was about to be created. */
  readonly isPending: boolean;
  /** The last apply failed. A later one may have created the object: its UID is in the status only some time later. */
  readonly hasFailed: boolean;
}

/**
 * Whether the application created this object. Only such objects are deleted. Labels, owner references and the names of
 * field managers prove nothing: every user that may change an object can set them. The status has the UID of each object
 * that was created, or taken over (`isTakenOver`). Admission lets only the manager, and users that may delete an object, add
 * it there.
 *
 * If the manager stopped between the creation and the status, the entry is still pending. Then the object is ours if our
 * apply created it.
 */
export function isCreatedBy({ metadata }: KubeObject, recorded: Recorded | undefined): boolean {
  if (recorded === undefined) return false;
  const { uid } = recorded.identifier;
  if (uid !== undefined) return uid === metadata.uid;
  return (recorded.isPending || recorded.hasFailed) && isBornFromApply(metadata);
}

/**
 * Whether the application is the controller of the object, as KubeEdge sets it. Only a user that may change the object can
 * write this, and that user can have it deleted anyway: the garbage collector deletes it with the application.
 *
 * Owner references of the application itself prove nothing about other objects, because its author writes them.
 */
export function isControlledBy({ metadata }: KubeObject, application: EdgeApplication): boolean {
  if (metadata.namespace !== application.metadata.namespace) return false;
  const owner = controllerOf(metadata)?.uid;
  return owner !== undefined && owner === application.metadata.uid;
}

/**
 * Whether OpenYurt created the object for the YurtAppSet or YurtAppDaemon that the application belongs to. The application
 * may change such an object if it renders it, and records its UID then. It is deleted by that UID only: admission has checked that
 * the author of a manifest may delete what the manifest renders, but the owner reference of the application may be forged.
 */
export function isTakenOver({ metadata }: KubeObject, application: EdgeApplication): boolean {
  if (metadata.namespace !== application.metadata.namespace) return false;
  const [owner, ours] = [controllerOf(metadata), controllerOf(application.metadata)];
  return (
    owner !== undefined &&
    owner.uid === ours?.uid &&
    [owner, ours].every(
      ({ apiVersion, kind }) =>
        apiVersion.startsWith(`${YURT_APP_SETS.group}/`) && ['YurtAppSet', 'YurtAppDaemon'].includes(kind),
    )
  );
}

const controllerOf = ({ ownerReferences = [] }: Pick<KubeObject['metadata'], 'ownerReferences'>) =>
  ownerReferences.find(({ controller }) => controller === true);

/** Whether another object is the controller. An object has at most one. */
export const hasOtherController = (
  { metadata }: KubeObject,
  application: Pick<EdgeApplication, 'metadata'>,
): boolean => {
  const owner = controllerOf(metadata);
  return owner !== undefined && owner.uid !== application.metadata.uid;
};

/** The two times of one creation can differ by this: they have a resolution of one second, and ours is set first. */
const SAME_MOMENT_MS = 1_000;

/** Whether an apply of ours created the object. The API server sets both times; a later apply has a later time. */
export function isBornFromApply({ creationTimestamp, managedFields = [] }: KubeObject['metadata']): boolean {
  const created = Date.parse(creationTimestamp ?? '');
  return managedFields.some(({ manager, operation, time, subresource = '' }) => {
    const before = created - Date.parse(time ?? '');
    const isOurs = manager === APPS_FIELD_MANAGER && operation === 'Apply' && subresource === '';
    return isOurs && before >= 0 && before <= SAME_MOMENT_MS;
  });
}

/** The message for an object that exists but does not belong to the application. */
export function refusal(object: KubeObject, { metadata }: EdgeApplication): string {
  const owner = ownerOf(object);
  if (owner !== undefined)
    return `the object belongs to EdgeApplication ${owner}: change its name in one of the applications`;
  return (
    'the object exists and does not belong to this application: delete it, or add the labels ' +
    `${EDGE_APPLICATION_LABEL}=${metadata.name},${EDGE_APPLICATION_NAMESPACE_LABEL}=${metadata.namespace}`
  );
}

/**
 * Adds an owner reference to objects in the namespace of the application. Kubernetes requires the same namespace. Use it
 * only for objects that the application creates, because the garbage collector deletes them with the application.
 */
export function withOwner(object: KubeObject, application: EdgeApplication): KubeObject {
  const { name = '', namespace, uid = '' } = application.metadata;
  if (object.metadata.namespace !== namespace) return object;
  const { apiVersion, kind } = application;
  const owner: OwnerReference = { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
  return { ...object, metadata: { ...object.metadata, ownerReferences: [owner] } };
}
