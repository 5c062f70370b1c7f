/**
 * Rewriting the file of a DurableMap without what was overwritten or deleted.
 *
 * The living records are copied while writers go on appending to the old file. What they appended meanwhile is then
 * copied as it stands, in the writers' turn, and the new file takes the old one's name.
 */
import { MapFile } from './map-file.ts';
import { encodeMapFrame, type MapChange, type Place } from './map-frame.ts';
import type { OpenOutput } from './output-file.ts';

const FRAME_BYTES = 256 << 10;
/** Syncing along the way keeps the writers' own syncs from waiting behind one huge one. */
const SYNC_BYTES = 4 << 20;

export class MapRewrite {
  readonly #path: string;
  readonly #source: MapFile;
  /** From here on the source is younger than the copy. */
  readonly #from: number;
  readonly #living: readonly (readonly [string, Place])[];
  readonly #places = new Map<string, Place>();
  #draft: MapFile | undefined;

  /** To be made between two appends, when `index` shows what the file holds. */
  constructor(path: string, source: MapFile, index: ReadonlyMap<string, Place>) {
    this.#path = path;
    this.#source = source;
    this.#from = source.end;
    this.#living = [...index];
  }

  /** Copies what was living when the rewrite was made. */
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

  /** In the writers' turn: brings the copy up to date and gives it the name. `index` then shows the new file. */
  async finish(index: Map<string, Place>): Promise<MapFile> {
    const draft = this.#draft;
    if (draft === undefined) throw new Error('nothing was copied yet');
    const moved = draft.end - this.#from;
    await draft.write(await this.#source.read(this.#from, this.#source.end - this.#from));
    await draft.publish(this.#path);
    // From now on it is the file itself: nothing to discard.
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
