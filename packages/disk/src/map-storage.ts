import { rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isErrno } from './errors.ts';
import type { DiskLogger } from './logger.ts';
import { makeDirectory } from './make-directory.ts';
import { draftOf, MapFile } from './map-file.ts';
import { encodeMapFrame, type MapChange, type Place, type PlacedChange, recordSize } from './map-frame.ts';
import { MapRewrite } from './map-rewrite.ts';
import { hasRoomFor, type OpenOutput } from './output-file.ts';

interface MapStorageOptions {
  path: string;
  log: DiskLogger;
  openOutput: OpenOutput;
  /** Do not rewrite the file for less garbage than this. */
  leastGarbage: number;
}

const NO_ROOM = 'the disk has not enough space for a second copy of the content';

/**
 * The part of a DurableMap that is on disk: the file, the position of each value, and the decision when to rewrite
 * the file.
 */
export class MapStorage {
  readonly #options: MapStorageOptions;
  readonly #stop = new AbortController();
  readonly #index = new Map<string, Place>();
  #file: MapFile;
  /** The number of bytes of the file that the index refers to. */
  #living = 0;
  /** A rewrite starts when there is more garbage than this; increased after a failure. */
  #garbageLimit: number;
  #rewriting: Promise<void> | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(options: MapStorageOptions, file: MapFile, content: readonly PlacedChange[]) {
    this.#options = options;
    this.#garbageLimit = options.leastGarbage;
    this.#file = file;
    for (const change of content) this.#apply(change);
  }

  /** Opens the file, and creates it if it does not exist. */
  static async open(options: MapStorageOptions): Promise<MapStorage> {
    const { path, openOutput, log } = options;
    makeDirectory(dirname(path));
    await rm(draftOf(path), { force: true });
    if (!(await exists(path))) return new MapStorage(options, await createFile(path, openOutput), []);
    const content = new Map<string, Place | undefined>();
    const file = await MapFile.recover(path, openOutput, log, ([key, place]) => content.set(key, place));
    return new MapStorage(options, file, [...content]);
  }

  has(key: string): boolean {
    return this.#index.has(key);
  }

  keys(): IterableIterator<string> {
    return this.#index.keys();
  }

  async get(key: string): Promise<Buffer | undefined> {
    const place = this.#index.get(key);
    return place === undefined ? undefined : this.#file.read(place.offset, place.length);
  }

  /** Makes the changes durable, all or none. */
  async commit(changes: readonly MapChange[]): Promise<void> {
    await this.#inTurn(async () => {
      const { frame, placed } = encodeMapFrame(changes, this.#file.end);
      await this.#file.append(frame);
      for (const change of placed) this.#apply(change);
      this.#rewriteIfWorthIt();
    });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#rewriting;
    await this.#inTurn(() => this.#file.close());
  }

  #apply([key, place]: PlacedChange): void {
    const previous = this.#index.get(key);
    if (previous !== undefined) this.#living -= recordSize(key, previous.length);
    if (place === undefined) {
      this.#index.delete(key);
      return;
    }
    this.#index.set(key, place);
    this.#living += recordSize(key, place.length);
  }

  #rewriteIfWorthIt(): void {
    const garbage = this.#file.end - this.#living;
    if (this.#rewriting !== undefined || this.#stop.signal.aborted) return;
    if (garbage <= this.#garbageLimit || garbage <= this.#file.end / 2) return;
    const rewrite = new MapRewrite(this.#options.path, this.#file, this.#index);
    this.#rewriting = this.#rewrite(rewrite).finally(() => {
      this.#rewriting = undefined;
    });
  }

  /** A failure costs only space: the old file is complete, and the rewrite is retried when there is more to gain. */
  async #rewrite(rewrite: MapRewrite): Promise<void> {
    const { log, openOutput, leastGarbage, path } = this.#options;
    try {
      if (!(await hasRoomFor(this.#living, dirname(path)))) throw new Error(NO_ROOM);
      await rewrite.copy(openOutput, this.#stop.signal);
      await this.#inTurn(async () => {
        const old = this.#file;
        this.#file = await rewrite.finish(this.#index);
        this.#garbageLimit = leastGarbage;
        await old.close();
      });
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        log.warn({ err: error, file: path }, 'cannot rewrite the file; it keeps growing');
        this.#garbageLimit = this.#file.end - this.#living + leastGarbage;
      }
      await rewrite.discard().catch((err) => log.warn({ err }, 'cannot remove an unfinished file'));
    }
  }

  /** Runs the operations that write to the file one after the other. */
  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(task);
    // A failure concerns only the caller of this task.
    this.#turn = done.catch(() => {});
    return done;
  }
}

async function createFile(path: string, openOutput: OpenOutput): Promise<MapFile> {
  const file = await MapFile.draft(path, openOutput);
  try {
    await file.publish(path);
    await file.sync();
    return file;
  } catch (error) {
    await file.discard();
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false;
    throw error;
  }
}
