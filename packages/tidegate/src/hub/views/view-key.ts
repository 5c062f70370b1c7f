import { createHash } from 'node:crypto';
import { PODS, type Resource, type SelectOptions } from '@tidegate/kube';
import type { ViewKey } from './view.ts';

/** The identity of views that serve all clients of the node. They are followed with the node's credentials. */
export const SHARED = 'shared';
/** The identity of the node itself. */
export const NODE = 'node';

/** A short name for the view, the same for equal keys. Views are stored on disk under it. */
export function idOf({ identity, resource, namespace, labelSelector, fieldSelector }: ViewKey): string {
  const { group, version, resource: plural } = resource;
  const text = JSON.stringify([identity, group, version, plural, namespace, labelSelector, fieldSelector]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** Groups the views that one identity has of one resource, whatever they select. */
export const groupOf = (identity: string, { group, version, resource }: Resource): string =>
  JSON.stringify([identity, group, version, resource]);

export const sharedKey = (resource: Resource): ViewKey => ({
  identity: SHARED,
  resource,
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
});

/** The view that the kubelet reads: all pods of the node. */
export const podsOfNode = (nodeName: string): ViewKey => ({
  identity: NODE,
  resource: PODS,
  namespace: '',
  labelSelector: '',
  fieldSelector: `spec.nodeName=${nodeName}`,
});

/** The view that stores the response to a GET of one object: a list that is limited to the name of the object. */
export const singleKey = (
  identity: string,
  resource: Resource,
  namespace: string,
  name: string,
): ViewKey => ({
  identity,
  resource,
  namespace,
  labelSelector: '',
  fieldSelector: `metadata.name=${name}`,
});

export const isSingle = ({ fieldSelector, labelSelector }: ViewKey): boolean =>
  labelSelector === '' && /^metadata\.name=[^,]+$/.test(fieldSelector);

/**
 * Whether the view selects every object of this name and namespace. If such a view does not contain the object, the
 * object does not exist. A view with other selectors proves nothing: the object may exist and not match.
 */
export function isComplete(key: ViewKey, namespace: string, name: string): boolean {
  if (!reaches(key, namespace) || key.labelSelector !== '') return false;
  return key.fieldSelector === '' || key.fieldSelector === `metadata.name=${name}`;
}

/** Whether the view can contain objects of this namespace. */
export const reaches = (key: ViewKey, namespace: string): boolean =>
  key.namespace === '' || key.namespace === namespace;

/**
 * Whether the view could answer a read of this object or, without a name, of this namespace, or a part of it. A view of
 * another single object could not.
 */
export function answers(key: ViewKey, namespace: string, name: string): boolean {
  if (name === '') return namespace === '' || reaches(key, namespace);
  return reaches(key, namespace) && (!isSingle(key) || isComplete(key, namespace, name));
}

export const selectOf = ({ namespace, labelSelector, fieldSelector }: ViewKey): SelectOptions => ({
  namespace,
  labelSelector,
  fieldSelector,
});

/**
 * The resources that the kubelet needs to keep the pods of the node running. Views of them with the node's identity are
 * evicted last, and stay on disk when the API server refuses them.
 */
const VITAL = new Set(['pods', 'secrets', 'configmaps', 'nodes', 'leases.coordination.k8s.io']);

export const isVital = ({ identity, resource: { group, resource } }: ViewKey): boolean =>
  identity === NODE && VITAL.has(group === '' ? resource : `${resource}.${group}`);
