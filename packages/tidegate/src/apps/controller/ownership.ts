import { type KubeObject, keyOf, type OwnerReference } from '@tidegate/kube';
import {
  APPS_FIELD_MANAGER,
  EDGE_APPLICATION_LABEL,
  EDGE_APPLICATION_NAMESPACE_LABEL,
  type EdgeApplication,
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
    (recorded &&
      managedFields.some(({ manager, operation }) => manager === APPS_FIELD_MANAGER && operation === 'Apply'))
  );
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

/** Adds an owner reference to objects in the namespace of the application. Kubernetes requires the same namespace. */
export function withOwner(object: KubeObject, application: EdgeApplication): KubeObject {
  const { name = '', namespace, uid = '' } = application.metadata;
  if (object.metadata.namespace !== namespace) return object;
  const { apiVersion, kind } = application;
  const owner: OwnerReference = { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
  return { ...object, metadata: { ...object.metadata, ownerReferences: [owner] } };
}
