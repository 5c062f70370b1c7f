/**
 * Decides when a snapshot is due and writes it in the background: once the log has outgrown the state, so that writing
 * snapshots never costs more than writing the log, and a start never reads more than twice the state.
 */
import { readdir, rm } from 'node:fs/promises';
import type { DiskLogger, OpenOutput } from '@tidegate/disk';
import { filePath, revisionsOf } from './files.ts';
import type { Log } from './log.ts';
import { type SnapshotContent, writeSnapshot } from './snapshot.ts';
import type { State } from './state.ts';

interface CompactorOptions {
  directory: string;
  openOutput: OpenOutput;
  state: State;
  wal: Log;
  /** Bytes of log behind the newest snapshot. */
  logBytes: number;
  /** A log of fewer bytes is not worth a snapshot. */
  leastBytes: number;
  log: DiskLogger;
}

export class Compactor {
  readonly #options: CompactorOptions;
  readonly #stop = new AbortController();
  #logBytes: number;
  #running: Promise<void> | undefined;

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#logBytes = options.logBytes;
  }

  /**
   * To be called between two appends, when memory and log show the same revision. Waits for the new segment only; the
   * snapshot is written while writes go on.
   */
  async appended(bytes: number): Promise<void> {
    const { leastBytes, state, wal, log } = this.#options;
    this.#logBytes += bytes;
    if (this.#running !== undefined || this.#logBytes <= Math.max(leastBytes, state.bytes)) return;
    this.#logBytes = 0;
    try {
      await wal.rotate(state.revision + 1);
    } catch (error) {
      log.warn({ err: error }, 'cannot begin a log segment; the log goes on growing');
      return;
    }
    const content = { revision: state.revision, entries: state.capture() };
    this.#running = this.#write(content).finally(() => {
      this.#running = undefined;
    });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** A failure costs nothing but disk: the log is complete without the snapshot, and the next one is tried later. */
  async #write(content: SnapshotContent): Promise<void> {
    const { directory, openOutput, wal, log } = this.#options;
    try {
      await writeSnapshot(directory, openOutput, content, this.#stop.signal);
      await wal.removeUpTo(content.revision);
      await this.#removeOlderThan(content.revision);
    } catch (error) {
      if (!this.#stop.signal.aborted)
        log.warn({ err: error }, 'cannot write a snapshot; the log goes on growing');
    }
  }

  async #removeOlderThan(revision: number): Promise<void> {
    const { directory } = this.#options;
    for (const older of revisionsOf('snapshot', await readdir(directory))) {
      if (older < revision) await rm(filePath(directory, 'snapshot', older), { force: true });
    }
  }
}
