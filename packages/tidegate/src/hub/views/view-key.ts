import { createHash } from 'node:crypto';
import type { Resource, SelectOptions } from '@tidegate/kube';
import type { ViewKey } from './view.ts';

/** What all clients of the node read from; followed with the node's credentials. */
export const SHARED = 'shared';
/** The node itself. */
export const NODE = 'node';

/** Short, and the same for equal keys: under it a view is stored. */
export function idOf({ identity, resource, namespace, labelSelector, fieldSelector }: ViewKey): string {
  const { group, version, resource: plural } = resource;
  const text = JSON.stringify([identity, group, version, plural, namespace, labelSelector, fieldSelector]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** The same for all views that the same identity has of one resource. */
export const groupOf = (identity: string, { group, version, resource }: Resource): string =>
  JSON.stringify([identity, group, version, resource]);

export const sharedKey = (resource: Resource): ViewKey => ({
  identity: SHARED,
  resource,
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
});

/** The view that a GET of one object shows: a list narrowed to its name. */
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

/** Whether a view that does not hold the object of this name proves that there is none. */
export function isComplete(key: ViewKey, namespace: string, name: string): boolean {
  if (!reaches(key, namespace) || key.labelSelector !== '') return false;
  return key.fieldSelector === '' || key.fieldSelector === `metadata.name=${name}`;
}

/** Whether objects of this namespace can be in it at all. */
export const reaches = (key: ViewKey, namespace: string): boolean =>
  key.namespace === '' || key.namespace === namespace;

export const selectOf = ({ namespace, labelSelector, fieldSelector }: ViewKey): SelectOptions => ({
  namespace,
  labelSelector,
  fieldSelector,
});

/** The node runs on these: they are kept when others have to go, and not given up for a refusal. */
const VITAL = new Set(['pods', 'secrets', 'configmaps', 'nodes', 'leases.coordination.k8s.io']);

export const isVital = ({ identity, resource: { group, resource } }: ViewKey): boolean =>
  identity === NODE && VITAL.has(group === '' ? resource : `${resource}.${group}`);
