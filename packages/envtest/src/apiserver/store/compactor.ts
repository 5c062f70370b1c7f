/**
 * Decides when to write a snapshot, and writes it in the background. A snapshot is due once the log is larger than
 * the state. Writing snapshots therefore costs at most as much as writing the log, and a start reads at most about
 * twice the size of the state.
 */
import { readdir, rm } from 'node:fs/promises';
import { type DiskLogger, hasRoomFor, type OpenOutput } from '@tidegate/disk';
import { filePath, revisionsOf } from './files.ts';
import type { Log } from './log.ts';
import { type SnapshotContent, writeSnapshot } from './snapshot.ts';
import type { State } from './state.ts';

interface CompactorOptions {
  directory: string;
  openOutput: OpenOutput;
  state: State;
  wal: Log;
  /** Bytes of log after the newest snapshot. */
  logBytes: number;
  /** Logs smaller than this do not justify a snapshot. */
  leastBytes: number;
  log: DiskLogger;
}

const NO_ROOM = 'the disk has not enough space for a snapshot';
/** After a failure, there are this many attempts while the log grows by what justifies a snapshot. */
const RETRIES_PER_SNAPSHOT = 4;

/** One instance per store. `appended` is called for every commit, and at most one snapshot is written at a time. */
export class Compactor {
  readonly #options: CompactorOptions;
  readonly #stop = new AbortController();
  /** Bytes of log since the newest snapshot, or since the snapshot that is being written. */
  #logBytes: number;
  /** After a failure, the next attempt waits for this many bytes of log. */
  #retryBytes = 0;
  #running: Promise<void> | undefined;

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#logBytes = options.logBytes;
  }

  /**
   * Must be called between two appends, when memory and log are at the same revision: the new segment then begins
   * exactly where the snapshot ends. Waits only for the new segment; writes continue while the snapshot is written.
   */
  async appended(bytes: number): Promise<void> {
    const { directory, leastBytes, state, wal } = this.#options;
    this.#logBytes += bytes;
    const due = Math.max(leastBytes, state.bytes, this.#retryBytes);
    if (this.#running !== undefined || this.#logBytes <= due) return;
    try {
      // A snapshot that fills the disk would fail in the end, and until then all writes would.
      if (!(await hasRoomFor(state.bytes, directory))) throw new Error(NO_ROOM);
      await wal.rotate(state.revision + 1);
    } catch (error) {
      this.#failed(error, 'cannot start a new log segment; the log keeps growing');
      return;
    }
    const logBytes = this.#logBytes;
    this.#logBytes = 0;
    // `capture` copies references to immutable entries, so it is fast and later writes do not change the snapshot.
    const content = { revision: state.revision, entries: state.capture() };
    this.#running = this.#write(content, logBytes).finally(() => {
      this.#running = undefined;
    });
  }

  /** The disk has space again: the next attempt does not wait. */
  retrySoon(): void {
    this.#retryBytes = 0;
  }

  /** Aborts a snapshot that is being written. The log contains everything that it would have contained. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** A failure costs only disk space: the log is complete without the snapshot, and the next attempt comes later. */
  async #write(content: SnapshotContent, logBytes: number): Promise<void> {
    const { directory, openOutput, wal } = this.#options;
    try {
      // The order matters: old segments and snapshots go only after the new snapshot is durable. A crash in between
      // leaves files that are not needed, never a gap.
      await writeSnapshot(directory, openOutput, content, this.#stop.signal);
      await wal.removeUpTo(content.revision);
      await this.#removeOlderThan(content.revision);
      this.#retryBytes = 0;
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#logBytes += logBytes;
      this.#failed(error, 'cannot write a snapshot; the log keeps growing');
    }
  }

  #failed(error: unknown, message: string): void {
    const { leastBytes, log } = this.#options;
    this.#retryBytes = this.#logBytes + leastBytes / RETRIES_PER_SNAPSHOT;
    log.warn({ err: error }, message);
  }

  async #removeOlderThan(revision: number): Promise<void> {
    const { directory } = this.#options;
    for (const older of revisionsOf('snapshot', await readdir(directory))) {
      if (older < revision) await rm(filePath(directory, 'snapshot', older), { force: true });
    }
  }
}
