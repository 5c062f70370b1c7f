import type { Clock, KubeList } from '@tidegate/kube';
import { excess, type Holder, type ShareLimits } from '../shares/index.ts';
import { itemOf } from './item.ts';
import type { ViewItem, ViewKey } from './view.ts';
import { idOf } from './view-key.ts';

/** A complete list at one resourceVersion. */
export interface CompleteList {
  readonly listKind: string;
  readonly resourceVersion: string;
  readonly items: readonly ViewItem[];
}

/** The pages of one list that have arrived. */
interface Assembly {
  readonly listKind: string;
  readonly resourceVersion: string;
  readonly items: ViewItem[];
  readonly identity: string;
  bytes: number;
  expiresAt: number;
}

/** API servers accept a continue token for about as long: by default, they compact etcd every five minutes. */
const EXPIRES_MS = 5 * 60_000;
/** The memory for a list that waits for its next page, in bytes, besides its objects. */
const OVERHEAD = 1024;

/**
 * Assembles the pages of lists that clients read through the hub (`limit` and `continue`), so that a paginated list can
 * be stored like any other. A list is complete when its last page has arrived, with the resourceVersion of the first. Pages
 * with another version are dropped (an API server returns them after an expired token), and so are pages whose successor
 * does not arrive in time. If the waiting pages of a client or of all clients exceed a size limit, the oldest list of that
 * client, or of the largest tenant, is dropped.
 */
export class PageAssembler {
  readonly #clock: Clock;
  readonly #limits: ShareLimits;
  readonly #holderOf: (identity: string) => Holder;
  /** By the view and the continue token of the next page. The oldest is first. */
  readonly #assemblies = new Map<string, Assembly>();

  /** The limits are in bytes. */
  constructor(clock: Clock, limits: ShareLimits, holderOf: (identity: string) => Holder) {
    this.#clock = clock;
    this.#limits = limits;
    this.#holderOf = holderOf;
  }

  /** `token` is the continue token of the request; undefined for a first page. Returns the list after its last page. */
  add(key: ViewKey, token: string | undefined, page: KubeList): CompleteList | undefined {
    this.#expire();
    const assembly = token ? this.#take(assemblyKey(key, token), page) : newAssembly(key, page);
    if (assembly === undefined) return undefined;
    for (const object of page.items) {
      const item = itemOf(object, key.resource, page.kind);
      assembly.items.push(item);
      assembly.bytes += item.bytes.length;
    }
    const next = page.metadata.continue;
    if (!next) return assembly;
    assembly.expiresAt = this.#clock.monotonic() + EXPIRES_MS;
    this.#assemblies.set(assemblyKey(key, next), assembly);
    return undefined;
  }

  #take(name: string, page: KubeList): Assembly | undefined {
    const assembly = this.#assemblies.get(name);
    this.#assemblies.delete(name);
    return assembly?.resourceVersion === page.metadata.resourceVersion ? assembly : undefined;
  }

  #expire(): void {
    for (const [name, { expiresAt }] of this.#assemblies) {
      if (expiresAt > this.#clock.monotonic()) break;
      this.#assemblies.delete(name);
    }
    const pieces = [...this.#assemblies].map(([item, { identity, bytes }], rank) => {
      return { item, holder: this.#holderOf(identity), weight: bytes + OVERHEAD, rank };
    });
    for (const name of excess(pieces, this.#limits)) this.#assemblies.delete(name);
  }
}

const newAssembly = ({ identity }: ViewKey, { kind, metadata }: KubeList): Assembly => ({
  identity,
  listKind: kind,
  resourceVersion: metadata.resourceVersion ?? '',
  items: [],
  bytes: 0,
  expiresAt: 0,
});

const assemblyKey = (key: ViewKey, token: string): string => `${idOf(key)} ${token}`;
