import { apiVersionOf, type KubeList, type KubeObject } from '../base/object.ts';
import type { Resource } from './resource.ts';

/** As Go writes it: an empty list may be null, or missing. */
export type SentList<T extends KubeObject> = Omit<KubeList<T>, 'items'> & { items?: T[] | null };

export function completeList<T extends KubeObject>(list: SentList<T>, resource: Resource<T>): KubeList<T> {
  return { ...list, items: (list.items ?? []).map((item) => withKind(item, resource, list.kind)) };
}

/** Items of a list come without apiVersion and kind, which would make them differ from the same objects watched. */
function withKind<T extends KubeObject>(item: T, resource: Resource<T>, listKind: string): T {
  if (item.kind !== undefined && item.apiVersion !== undefined) return item;
  const apiVersion = apiVersionOf(resource.group, resource.version);
  return { ...item, apiVersion, kind: listKind.replace(/List$/, '') };
}
