import { type KubeObject, keyOf, type OwnerReference } from '@tidegate/kube';
import {
  APPS_FIELD_MANAGER,
  EDGE_APPLICATION_LABEL,
  EDGE_APPLICATION_NAMESPACE_LABEL,
  type EdgeApplication,
} from '../../api/index.ts';

/** The key of the application that an object says it belongs to. */
export function ownerOf({ metadata: { labels = {} } }: KubeObject): string | undefined {
  const name = labels[EDGE_APPLICATION_LABEL];
  const namespace = labels[EDGE_APPLICATION_NAMESPACE_LABEL];
  return name === undefined || namespace === undefined ? undefined : `${namespace}/${name}`;
}

/**
 * Whether an object that exists is the application's. The labels say so; where somebody took them off, so does the
 * reference to its owner, or that it was us who wrote it (`recorded`). Nothing else is ever written or deleted.
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

/** Why the application does not touch it, and what to do. */
export function refusal(object: KubeObject, { metadata }: EdgeApplication): string {
  const owner = ownerOf(object);
  if (owner !== undefined)
    return `it belongs to EdgeApplication ${owner}: choose another name in one of the two`;
  return (
    'it exists already and is not of this application: delete it, or hand it over with the labels ' +
    `${EDGE_APPLICATION_LABEL}=${metadata.name},${EDGE_APPLICATION_NAMESPACE_LABEL}=${metadata.namespace}`
  );
}

/** With a reference to its owner, where that is possible: owners must be in the same namespace. */
export function withOwner(object: KubeObject, application: EdgeApplication): KubeObject {
  const { name = '', namespace, uid = '' } = application.metadata;
  if (object.metadata.namespace !== namespace) return object;
  const { apiVersion, kind } = application;
  const owner: OwnerReference = { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
  return { ...object, metadata: { ...object.metadata, ownerReferences: [owner] } };
}
