import { existsSync } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import type { Clock, Logger } from '@tidegate/kube';
import type { ContainerLogs, ContainerPlace, LogOptions } from '../contracts.ts';
import { type AttemptFiles, attemptsIn, filesOf } from './files.ts';
import { format } from './format.ts';
import { OpenLog } from './open-log.ts';
import { chosenStretches, followLog, type Piece, readStretch } from './reading.ts';

/** Options of {@link FileLogs}. */
export interface FileLogsOptions {
  clock: Clock;
  log: Logger;
  /** The size at which a log is rotated; a log takes at most about twice this much. */
  maxBytes?: number;
}

const MAX_BYTES = 10 * 1024 * 1024;

/** Logs as files in the directories of the containers, one file per attempt. */
export class FileLogs implements ContainerLogs {
  readonly #options: FileLogsOptions;
  /** The logs of running containers, by log directory. */
  readonly #open = new Map<string, OpenLog>();

  constructor(options: FileLogsOptions) {
    this.#options = options;
  }

  async outputFor(
    place: ContainerPlace,
    restartCount: number,
  ): Promise<{ fd: number; close(): Promise<void> }> {
    const { logDirectory } = place;
    await this.ended(place);
    await mkdir(logDirectory, { recursive: true, mode: 0o700 });
    const [previous] = (await attemptsIn(logDirectory)).filter((attempt) => attempt < restartCount);
    for (const attempt of await attemptsIn(logDirectory)) {
      if (attempt !== previous) await removeAttempt(filesOf(logDirectory, attempt));
    }
    const files = filesOf(logDirectory, restartCount);
    // In append mode, because the file may be truncated under the process when it is rotated.
    const handle = await open(files.current.output, 'a', 0o600);
    this.#follow(logDirectory, files);
    return { fd: handle.fd, close: () => handle.close() };
  }

  async resume({ logDirectory }: ContainerPlace, restartCount: number): Promise<void> {
    if (this.#open.has(logDirectory)) return;
    const files = filesOf(logDirectory, restartCount);
    await mkdir(logDirectory, { recursive: true, mode: 0o700 });
    if (!existsSync(files.current.output)) await (await open(files.current.output, 'a', 0o600)).close();
    this.#follow(logDirectory, files);
  }

  async ended({ logDirectory }: ContainerPlace): Promise<void> {
    this.#end(logDirectory);
  }

  async *read(
    { logDirectory }: ContainerPlace,
    which: 'current' | 'previous',
    options: LogOptions,
    signal: AbortSignal,
  ): AsyncGenerator<Buffer> {
    const attempt = (await attemptsIn(logDirectory))[which === 'current' ? 0 : 1];
    if (attempt === undefined) return;
    const log = which === 'current' ? this.#open.get(logDirectory) : undefined;
    log?.look();
    yield* format(this.#pieces(filesOf(logDirectory, attempt), log, options, signal), options);
  }

  async close(): Promise<void> {
    for (const directory of [...this.#open.keys()]) this.#end(directory);
  }

  async *#pieces(
    files: AttemptFiles,
    log: OpenLog | undefined,
    options: LogOptions,
    signal: AbortSignal,
  ): AsyncGenerator<Piece> {
    const source = { files, log };
    const stretches = chosenStretches(source, options, this.#options.clock.now());
    for (const stretch of stretches) {
      for (const piece of readStretch(source, stretch)) {
        if (signal.aborted) return;
        yield piece;
      }
    }
    if (options.follow === true && log !== undefined) yield* followLog(log, stretches[1], signal);
  }

  #follow(directory: string, files: AttemptFiles): void {
    const { clock, log, maxBytes = MAX_BYTES } = this.#options;
    this.#open.set(directory, new OpenLog({ files, maxBytes, clock, log }));
  }

  /** The directory may already be gone if the pod was deleted with force. */
  #end(directory: string): void {
    const log = this.#open.get(directory);
    this.#open.delete(directory);
    try {
      log?.end();
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code === 'ENOENT') return;
      this.#options.log.warn({ err, directory }, 'cannot read the end of a log');
    }
  }
}

async function removeAttempt({ current, rotated }: AttemptFiles): Promise<void> {
  for (const { output, times } of [current, rotated]) {
    await rm(output, { force: true });
    await rm(times, { force: true });
  }
}
