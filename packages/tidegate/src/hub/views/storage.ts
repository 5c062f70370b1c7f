import type { DurableMap } from '@tidegate/disk';
import type { Logger } from '@tidegate/kube';
import type { ViewItem, ViewKey } from './view.ts';
import { idOf } from './view-key.ts';

/** What is known of a stored view without reading its objects. */
export interface ViewRecord {
  readonly key: ViewKey;
  readonly listKind: string;
  readonly progress: ViewProgress;
}

/** Changes with every event, so it is stored apart from what does not. */
export interface ViewProgress {
  readonly resourceVersion: string;
  /** When the API server was last heard, in milliseconds since the epoch. */
  readonly heardAt: number;
  readonly size: number;
  readonly bytes: number;
  /** How many objects are not as the API server has said. */
  readonly overlaid: number;
}

export interface StoredItem {
  readonly item: ViewItem;
  /** Written by the node while the link was away; the API server has not said it. */
  readonly overlaid: boolean;
}

type Kept = Pick<
  DurableMap,
  'put' | 'delete' | 'deletePrefix' | 'get' | 'has' | 'keys' | 'entries' | 'flush'
>;

const RECORDS = 'view/';
const PROGRESS = 'progress/';
const ITEMS = 'item/';

/**
 * Views on disk. What is called without an `await` in between is durable together, so that the objects of a view and
 * its resourceVersion always belong to each other.
 */
export class ViewStorage {
  readonly #map: Kept;

  constructor(map: Kept) {
    this.#map = map;
  }

  /** All views that are stored. One that can not be read is reported and forgotten: the API server has it still. */
  async records(log: Logger): Promise<ViewRecord[]> {
    const records: ViewRecord[] = [];
    for await (const [path, value] of this.#map.entries(RECORDS)) {
      const id = path.slice(RECORDS.length);
      try {
        const { key, listKind } = parse<Omit<ViewRecord, 'progress'>>(value);
        const progress = await this.#map.get(PROGRESS + id);
        if (progress === undefined || idOf(key) !== id) throw new Error('the record is incomplete');
        records.push({ key, listKind, progress: parse<ViewProgress>(progress) });
      } catch (error) {
        log.error({ err: error, view: id }, 'a stored view can not be read; it is forgotten');
        this.remove(id);
      }
    }
    return records;
  }

  putRecord(id: string, key: ViewKey, listKind: string): void {
    this.#map.put(RECORDS + id, Buffer.from(JSON.stringify({ key, listKind })));
  }

  putProgress(id: string, progress: ViewProgress): void {
    this.#map.put(PROGRESS + id, Buffer.from(JSON.stringify(progress)));
  }

  putItem(id: string, { item, overlaid }: StoredItem): void {
    // The head saves parsing every object when a view is read.
    const head = Buffer.from(`${item.resourceVersion}${overlaid ? ' overlaid' : ''}\n`);
    this.#map.put(itemPath(id, item.key), Buffer.concat([head, item.bytes]));
  }

  deleteItem(id: string, key: string): void {
    this.#map.delete(itemPath(id, key));
  }

  deleteItems(id: string): void {
    this.#map.deletePrefix(itemPath(id, ''));
  }

  remove(id: string): void {
    this.#map.delete(RECORDS + id);
    this.#map.delete(PROGRESS + id);
    this.deleteItems(id);
  }

  hasItem(id: string, key: string): boolean {
    return this.#map.has(itemPath(id, key));
  }

  async item(id: string, key: string): Promise<ViewItem | undefined> {
    const value = await this.#map.get(itemPath(id, key));
    return value === undefined ? undefined : storedItem(key, value).item;
  }

  async *items(id: string): AsyncGenerator<StoredItem> {
    const prefix = itemPath(id, '');
    for await (const [path, value] of this.#map.entries(prefix)) {
      yield storedItem(path.slice(prefix.length), value);
    }
  }

  flush(): Promise<void> {
    return this.#map.flush();
  }
}

const itemPath = (id: string, key: string): string => `${ITEMS}${id}/${key}`;

function storedItem(key: string, value: Buffer): StoredItem {
  const end = value.indexOf(0x0a);
  const [resourceVersion = '', mark] = value.toString('utf8', 0, end).split(' ');
  return { item: { key, resourceVersion, bytes: value.subarray(end + 1) }, overlaid: mark === 'overlaid' };
}

/** Only this file writes what is read here. */
const parse = <T>(value: Buffer): T => JSON.parse(value.toString('utf8'));
