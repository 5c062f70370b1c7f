import type { DurableMap } from '@tidegate/disk';
import type { Logger } from '@tidegate/kube';
import type { ViewItem, ViewKey } from './view.ts';
import { idOf } from './view-key.ts';

/** The parts of a stored view that are read when the hub starts. The objects are read when a client uses the view. */
export interface ViewRecord {
  readonly key: ViewKey;
  readonly listKind: string;
  readonly progress: ViewProgress;
}

/** The part of the record that changes with every event. It is stored separately, to keep that write small. */
export interface ViewProgress {
  readonly resourceVersion: string;
  /** When the last list, event or bookmark arrived, in milliseconds since the epoch. */
  readonly receivedAt: number;
  /** The number of objects. */
  readonly size: number;
  /** The size of all objects as JSON. */
  readonly bytes: number;
  /** The number of objects with a write of the node that the API server has not confirmed (see `overlay`). */
  readonly overlaid: number;
}

export interface StoredItem {
  readonly item: ViewItem;
  /** The node wrote this state while no API server was reachable. The API server has not confirmed it. */
  readonly overlaid: boolean;
}

/** Version 0.1.0 stored the time as `heardAt`. Its views must stay usable if the hub is upgraded while the link is cut. */
function progressOf(value: Buffer): ViewProgress {
  const { heardAt, ...progress } = parse<ViewProgress & { heardAt?: number }>(value);
  return heardAt === undefined ? progress : { ...progress, receivedAt: heardAt };
}

type Kept = Pick<
  DurableMap,
  'put' | 'delete' | 'deletePrefix' | 'get' | 'has' | 'keys' | 'entries' | 'flush'
>;

const RECORDS = 'view/';
const PROGRESS = 'progress/';
const ITEMS = 'item/';

/**
 * Views on disk, under three prefixes: `view/<id>` is the key and the list kind, `progress/<id>` is the version and the
 * size, `item/<id>/<key>` is one object.
 *
 * Calls without an `await` between them become durable together. MemoryView writes the objects and the progress of a
 * change in this way, so the stored resourceVersion always describes the stored objects. A watch that resumes from it
 * after a crash misses nothing.
 */
export class ViewStorage {
  readonly #map: Kept;

  constructor(map: Kept) {
    this.#map = map;
  }

  /** All stored views. A view that cannot be read is logged and deleted: the API server still has the objects. */
  async records(log: Logger): Promise<ViewRecord[]> {
    const records: ViewRecord[] = [];
    for await (const [path, value] of this.#map.entries(RECORDS)) {
      const id = path.slice(RECORDS.length);
      try {
        const { key, listKind } = parse<Omit<ViewRecord, 'progress'>>(value);
        const progress = await this.#map.get(PROGRESS + id);
        if (progress === undefined || idOf(key) !== id)
          throw new Error('the progress is missing, or the key does not match the id');
        records.push({ key, listKind, progress: progressOf(progress) });
      } catch (error) {
        log.error(
          { err: error, view: id },
          'cannot read a stored view; it is deleted, and listed again when a client needs it',
        );
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
    // The first line has what a view needs to know of an object, so that loading a view parses no JSON.
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

/** Only this file writes these values, so their types are known. */
const parse = <T>(value: Buffer): T => JSON.parse(value.toString('utf8'));
