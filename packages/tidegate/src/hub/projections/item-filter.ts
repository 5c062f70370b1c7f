import type { KubeObject } from '@tidegate/kube';
import type { Chain } from '../filters/index.ts';
import { exactBytes, objectOf, type ViewItem } from '../views/index.ts';
import type { Correction } from './correction.ts';
import { type Selection, selectsByKey, selectsKey, selectsObject } from './selection.ts';

/** Receives the key of an object that could not be decoded or filtered. Clients do not see the object. */
export type FaultListener = (key: string, error: unknown) => void;

/** The result of selection and filters for one object. */
export interface FilteredItem {
  /** The same item if the filters changed nothing: its bytes are then sent as they are. Undefined: clients do not see it. */
  readonly item: ViewItem | undefined;
  /** The Services and nodes whose change may change the result, see `Filter.dependsOn`. */
  readonly dependencies: readonly string[];
  /** Whether the object is not as the API server sent it, for all clients. */
  readonly corrected: boolean;
}

const NOT_SELECTED: FilteredItem = { item: undefined, dependencies: [], corrected: false };

/** Applies the selection and the filters of one projection to single objects. */
export class ItemFilter {
  readonly chain: Chain;
  readonly selection: Selection;
  /** False if the key of an object is enough, so that objects are never parsed. */
  readonly #needsObject: boolean;
  readonly #onFault: FaultListener;
  readonly #correction: Correction | undefined;

  /** `correction`: applied before the filters. */
  constructor(chain: Chain, selection: Selection, onFault: FaultListener, correction?: Correction) {
    this.chain = chain;
    this.selection = selection;
    this.#needsObject = correction !== undefined || chain.filters.length > 0 || !selectsByKey(selection);
    this.#onFault = onFault;
    this.#correction = correction;
  }

  /** `parse` lets several projections share the parsed object of one change. */
  apply(item: ViewItem, parse: (item: ViewItem) => KubeObject = objectOf): FilteredItem {
    if (!selectsKey(this.selection, item.key)) return NOT_SELECTED;
    if (!this.#needsObject) return { item, dependencies: [], corrected: false };
    try {
      return this.#applyTo(item, parse(item));
    } catch (error) {
      // Hidden, not shown unfiltered: the filters might have removed something that the client must not see.
      this.#onFault(item.key, error);
      return NOT_SELECTED;
    }
  }

  #applyTo(item: ViewItem, object: KubeObject): FilteredItem {
    if (!selectsObject(this.selection, object)) return NOT_SELECTED;
    const current = this.#correction?.apply(object) ?? object;
    const dependencies = [...this.chain.dependsOn(current), ...(this.#correction?.dependsOn(object) ?? [])];
    const filtered = this.chain.apply(current);
    const corrected = current !== object;
    if (filtered === undefined) return { item: undefined, dependencies, corrected };
    return {
      item: filtered === object ? item : { ...item, bytes: exactBytes(JSON.stringify(filtered)) },
      dependencies,
      corrected,
    };
  }
}

/** The same object with another resourceVersion. */
export function atVersion(item: ViewItem, resourceVersion: string): ViewItem {
  if (item.resourceVersion === resourceVersion) return item;
  const object = objectOf(item);
  const metadata = { ...object.metadata, resourceVersion };
  return { key: item.key, resourceVersion, bytes: exactBytes(JSON.stringify({ ...object, metadata })) };
}

/** Whether the two objects are equal except for the resourceVersion. */
export const looksSame = (a: ViewItem, b: ViewItem): boolean =>
  a === b || atVersion(a, b.resourceVersion).bytes.equals(b.bytes);
