/**
 * Rewrites the file of a DurableMap without overwritten and deleted records.
 *
 * The live records are copied while writers keep appending to the old file. Then, while the writers wait, the frames
 * that they appended meanwhile are copied unchanged, and the new file takes the name of the old one. So writers wait
 * only for the last part, and a crash at any moment leaves one complete file.
 */
import { MapFile } from './map-file.ts';
import { encodeMapFrame, type MapChange, type Place } from './map-frame.ts';
import type { OpenOutput } from './output-file.ts';

const FRAME_BYTES = 256 << 10;
/** Syncing in between prevents one huge sync at the end, which the syncs of the writers would wait for. */
const SYNC_BYTES = 4 << 20;

/** One rewrite. The map stays readable and writable while it runs. */
export class MapRewrite {
  readonly #path: string;
  readonly #source: MapFile;
  /** From this position on, the source has changes that the copy lacks. */
  readonly #from: number;
  readonly #living: readonly (readonly [string, Place])[];
  readonly #places = new Map<string, Place>();
  #draft: MapFile | undefined;

  /** Create it between two appends, when `index` matches the content of the file. */
  constructor(path: string, source: MapFile, index: ReadonlyMap<string, Place>) {
    this.#path = path;
    this.#source = source;
    this.#from = source.end;
    this.#living = [...index];
  }

  /** Copies the records that were live when the rewrite was created. */
  async copy(openOutput: OpenOutput, signal: AbortSignal): Promise<void> {
    const draft = await MapFile.draft(this.#path, openOutput);
    this.#draft = draft;
    let synced = 0;
    for await (const changes of this.#pieces()) {
      signal.throwIfAborted();
      const { frame, placed } = encodeMapFrame(changes, draft.end);
      await draft.write(frame);
      for (const [key, place] of placed) if (place !== undefined) this.#places.set(key, place);
      if (draft.end - synced < SYNC_BYTES) continue;
      await draft.sync();
      synced = draft.end;
    }
    await draft.sync();
  }

  /**
   * Call it while writers wait: brings the copy up to date and renames it. Afterwards `index` refers to the new file.
   */
  async finish(index: Map<string, Place>): Promise<MapFile> {
    const draft = this.#draft;
    if (draft === undefined) throw new Error('nothing was copied yet');
    const moved = draft.end - this.#from;
    await draft.write(await this.#source.read(this.#from, this.#source.end - this.#from));
    await draft.publish(this.#path);
    // From here on the draft is the file itself and must not be discarded.
    this.#draft = undefined;
    for (const [key, { offset, length }] of index) {
      const copied = this.#places.get(key);
      if (offset >= this.#from) index.set(key, { offset: offset + moved, length });
      else if (copied !== undefined) index.set(key, copied);
    }
    return draft;
  }

  async discard(): Promise<void> {
    await this.#draft?.discard();
  }

  async *#pieces(): AsyncGenerator<MapChange[]> {
    let piece: MapChange[] = [];
    let bytes = 0;
    for (const [key, { offset, length }] of this.#living) {
      piece.push([key, await this.#source.read(offset, length)]);
      bytes += length;
      if (bytes < FRAME_BYTES) continue;
      yield piece;
      piece = [];
      bytes = 0;
    }
    if (piece.length > 0) yield piece;
  }
}
