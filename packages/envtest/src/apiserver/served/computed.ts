/** Computed objects as entries, so that selectors, tables and lists work as for stored objects. */
import type { KubeObject } from '@tidegate/kube';
import type { ResourceDefinition } from '../resources/types.ts';
import type { Entry, ListResult, Store } from '../store/types.ts';

/** Undefined for resources that are stored. */
export function computedList(
  store: Store,
  { compute }: ResourceDefinition,
  namespace: string | undefined,
  now: Date,
): ListResult | undefined {
  if (compute === undefined) return undefined;
  const { revision } = store;
  const entries = compute(store, namespace, now).map((object) => entryOf(object, revision));
  return { entries, revision, remaining: 0 };
}

const entryOf = (object: KubeObject, revision: number): Entry => ({
  namespace: object.metadata.namespace ?? '',
  name: object.metadata.name ?? '',
  revision,
  value: Buffer.from(JSON.stringify(object)),
});
