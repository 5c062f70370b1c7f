import type { KubeObject } from '@tidegate/kube';
import type { Chain } from '../filters/index.ts';
import { exactBytes, objectOf, type ViewItem } from '../views/index.ts';
import { type Selection, selectsByKey, selectsKey, selectsObject } from './selection.ts';

/** Told of an object that could not be decoded or filtered. Clients do not get it. */
export type FaultListener = (key: string, error: unknown) => void;

/** What the selection and the filters leave of an object, and what that hangs on. */
export interface Seen {
  /** The very same when nothing was changed: then its bytes go out untouched. Undefined when it is not shown. */
  readonly item: ViewItem | undefined;
  readonly dependencies: readonly string[];
}

const UNSEEN: Seen = { item: undefined, dependencies: [] };

/** How the clients of one chain and selection look at objects. */
export class Sight {
  readonly chain: Chain;
  readonly selection: Selection;
  /** False: the key of an object says all, and nothing is ever parsed. */
  readonly #looksInside: boolean;
  readonly #onFault: FaultListener;

  constructor(chain: Chain, selection: Selection, onFault: FaultListener) {
    this.chain = chain;
    this.selection = selection;
    this.#looksInside = chain.filters.length > 0 || !selectsByKey(selection);
    this.#onFault = onFault;
  }

  /** `parse` because several projections may look at one change, which is parsed once. */
  see(item: ViewItem, parse: (item: ViewItem) => KubeObject = objectOf): Seen {
    if (!selectsKey(this.selection, item.key)) return UNSEEN;
    if (!this.#looksInside) return { item, dependencies: [] };
    try {
      return this.#seeInside(item, parse(item));
    } catch (error) {
      // What can not be decoded is withheld: passing it on unfiltered might show what must not be seen.
      this.#onFault(item.key, error);
      return UNSEEN;
    }
  }

  #seeInside(item: ViewItem, object: KubeObject): Seen {
    if (!selectsObject(this.selection, object)) return UNSEEN;
    const dependencies = this.chain.dependsOn(object);
    const filtered = this.chain.apply(object);
    if (filtered === undefined) return { item: undefined, dependencies };
    return {
      item: filtered === object ? item : { ...item, bytes: exactBytes(JSON.stringify(filtered)) },
      dependencies,
    };
  }
}

/** The same object under another version. */
export function atVersion(item: ViewItem, resourceVersion: string): ViewItem {
  if (item.resourceVersion === resourceVersion) return item;
  const object = objectOf(item);
  const metadata = { ...object.metadata, resourceVersion };
  return { key: item.key, resourceVersion, bytes: exactBytes(JSON.stringify({ ...object, metadata })) };
}

/** Whether clients could tell the two apart by anything but the version. */
export const looksSame = (a: ViewItem, b: ViewItem): boolean =>
  a === b || atVersion(a, b.resourceVersion).bytes.equals(b.bytes);
