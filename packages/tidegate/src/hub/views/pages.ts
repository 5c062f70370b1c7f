import type { Clock, KubeList } from '@tidegate/kube';
import { itemOf } from './item.ts';
import type { ViewItem, ViewKey } from './view.ts';
import { idOf } from './view-key.ts';

/** A whole list at one moment. */
export interface CompleteList {
  readonly listKind: string;
  readonly resourceVersion: string;
  readonly items: readonly ViewItem[];
}

interface Assembly {
  readonly listKind: string;
  readonly resourceVersion: string;
  readonly items: ViewItem[];
  bytes: number;
  expiresAt: number;
}

/** As long as API servers keep the snapshot that a continue token stands for. */
const EXPIRES_MS = 5 * 60_000;

/**
 * Puts together the pages of lists that clients read. A list is complete once its last page came at the version of its
 * first; pages of another version, pages that come too late and too much at once are dropped.
 */
export class PageAssembler {
  readonly #clock: Clock;
  readonly #mostBytes: number;
  /** By the view and the token with which the next page will be asked for; the oldest first. */
  readonly #assemblies = new Map<string, Assembly>();

  constructor(clock: Clock, mostBytes: number) {
    this.#clock = clock;
    this.#mostBytes = mostBytes;
  }

  /** `token` is what the page was asked for with. Returns the list when this was its last page. */
  add(key: ViewKey, token: string | undefined, page: KubeList): CompleteList | undefined {
    this.#expire();
    const assembly = token ? this.#take(fileName(key, token), page) : newAssembly(page);
    if (assembly === undefined) return undefined;
    for (const object of page.items) {
      const item = itemOf(object, key.resource, page.kind);
      assembly.items.push(item);
      assembly.bytes += item.bytes.length;
    }
    const next = page.metadata.continue;
    if (!next) return assembly;
    assembly.expiresAt = this.#clock.monotonic() + EXPIRES_MS;
    this.#assemblies.set(fileName(key, next), assembly);
    return undefined;
  }

  #take(name: string, page: KubeList): Assembly | undefined {
    const assembly = this.#assemblies.get(name);
    this.#assemblies.delete(name);
    return assembly?.resourceVersion === page.metadata.resourceVersion ? assembly : undefined;
  }

  #expire(): void {
    let bytes = 0;
    for (const assembly of this.#assemblies.values()) bytes += assembly.bytes;
    for (const [name, assembly] of this.#assemblies) {
      if (assembly.expiresAt > this.#clock.monotonic() && bytes <= this.#mostBytes) return;
      this.#assemblies.delete(name);
      bytes -= assembly.bytes;
    }
  }
}

const newAssembly = ({ kind, metadata }: KubeList): Assembly => ({
  listKind: kind,
  resourceVersion: metadata.resourceVersion ?? '',
  items: [],
  bytes: 0,
  expiresAt: 0,
});

const fileName = (key: ViewKey, token: string): string => `${idOf(key)} ${token}`;
