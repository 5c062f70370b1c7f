import { apiVersionOf, type KubeList, type KubeObject } from '../base/object.ts';
import type { Resource } from './resource.ts';

/** Go encodes an empty list as null, or omits it. */
export type SentList<T extends KubeObject> = Omit<KubeList<T>, 'items'> & { items?: T[] | null };

export function completeList<T extends KubeObject>(list: SentList<T>, resource: Resource<T>): KubeList<T> {
  return { ...list, items: (list.items ?? []).map((item) => withKind(item, resource, list.kind)) };
}

/**
 * API servers omit apiVersion and kind from list items. Without them, a listed object would differ from the same
 * object in a watch event.
 */
function withKind<T extends KubeObject>(item: T, resource: Resource<T>, listKind: string): T {
  if (item.kind !== undefined && item.apiVersion !== undefined) return item;
  const apiVersion = apiVersionOf(resource.group, resource.version);
  return { ...item, apiVersion, kind: listKind.replace(/List$/, '') };
}
