/** Reads logs that other processes write: what is there, in the order of time, and then what is added. */
import { type FileHandle, open } from 'node:fs/promises';
import type { LogFile } from '../supervisor/index.ts';
import { timeOf } from './log-text.ts';

export interface LogLine {
  component: string;
  line: string;
}

/** Returns each line of the logs once. A file that was replaced, as at every start of a cluster, is read from its start. */
export class LogReader {
  readonly #files = new Map<string, GrowingFile>();

  /**
   * The lines that were added since the last call, in the order of time. A line without a time, for example of a stack
   * trace, stays behind the one before it.
   */
  async read(logs: readonly LogFile[]): Promise<LogLine[]> {
    const added = await Promise.all(logs.map((log) => this.#added(log)));
    // The sort is stable, so that lines of one log with the same time keep their order.
    return added.flat().sort((a, b) => a.time - b.time);
  }

  async #added({ component, file }: LogFile): Promise<(LogLine & { time: number })[]> {
    const log = this.#files.get(file) ?? new GrowingFile(file);
    this.#files.set(file, log);
    let time = 0;
    return (await log.added()).map((line) => {
      time = timeOf(line) ?? time;
      return { component, line, time };
    });
  }
}

/** A file, and which part of it has been read. */
class GrowingFile {
  readonly #path: string;
  #inode = 0;
  #offset = 0;
  /** The beginning of a line whose end is not written yet. */
  #rest = '';

  constructor(path: string) {
    this.#path = path;
  }

  async added(): Promise<string[]> {
    const handle = await open(this.#path).catch(undefinedIfMissing);
    if (handle === undefined) return [];
    try {
      const text = this.#rest + (await this.#read(handle));
      const end = text.lastIndexOf('\n') + 1;
      this.#rest = text.slice(end);
      return text
        .slice(0, end)
        .split('\n')
        .filter((line) => line !== '');
    } finally {
      await handle.close();
    }
  }

  async #read(handle: FileHandle): Promise<string> {
    const { ino, size } = await handle.stat();
    if (ino !== this.#inode || size < this.#offset) {
      this.#inode = ino;
      this.#offset = 0;
      this.#rest = '';
    }
    const buffer = Buffer.alloc(size - this.#offset);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, this.#offset);
    this.#offset += bytesRead;
    return buffer.toString('utf8', 0, bytesRead);
  }
}

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
