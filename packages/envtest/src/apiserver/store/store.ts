/** Opens a data directory as a Store: wires memory, log, snapshots and watchers together. */
import {
  DiskError,
  type DiskLogger,
  diskFailure,
  lockDirectory,
  makeDirectory,
  type OpenOutput,
  openFile,
  processLogger,
} from '@tidegate/disk';
import { CommitQueue } from './commit-queue.ts';
import { Compactor } from './compactor.ts';
import { recover } from './recovery.ts';
import type { Change, Store } from './types.ts';
import { Watchers } from './watchers.ts';

export interface StoreOptions {
  directory: string;
  /** How many changes watches can resume over and lists can go back; 20,000 unless told. */
  historySize?: number;
  log?: DiskLogger;
  /** A log of this many bytes is worth a snapshot; 16 MiB unless told. */
  snapshotBytes?: number;
  /** How files are opened for writing: tests put a full disk here. */
  openOutput?: OpenOutput;
}

const HISTORY_SIZE = 20_000;
const HISTORY_BYTES = 32 << 20;
const SNAPSHOT_BYTES = 16 << 20;

/** Opens the directory, and makes it when it is not there. Rejects with a DiskError that says what to do. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { directory } = options;
  let unlock = async () => {};
  try {
    // What is stored holds Secrets: nobody else on the machine may read it.
    makeDirectory(directory);
    unlock = await lockDirectory(directory);
    return await assemble(options, unlock);
  } catch (error) {
    await unlock();
    throw error instanceof DiskError ? error : diskFailure(directory, error);
  }
}

async function assemble(options: StoreOptions, unlock: () => Promise<void>): Promise<Store> {
  const { directory, log = processLogger, openOutput = openFile } = options;
  const limits = { changes: options.historySize ?? HISTORY_SIZE, bytes: HISTORY_BYTES };
  const { state, wal, logBytes } = await recover({ directory, openOutput, limits, log });
  const leastBytes = options.snapshotBytes ?? SNAPSHOT_BYTES;
  const compactor = new Compactor({ directory, openOutput, state, wal, logBytes, leastBytes, log });
  const watchers = new Watchers(log);
  let appendedBytes = 0;

  async function append(changes: readonly Change[]): Promise<void> {
    // What was appended before is published by now: memory and log agree, as the compactor needs it.
    await compactor.appended(appendedBytes);
    appendedBytes = 0;
    appendedBytes = await wal.append(changes);
  }

  function publish(changes: readonly Change[]): void {
    for (const change of changes) state.apply(change);
    watchers.dispatch(changes);
  }

  const queue = new CommitQueue({ directory, state, append, publish });
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    await queue.close();
    await compactor.close();
    try {
      await wal.close();
    } finally {
      await unlock();
    }
  }

  return {
    get revision() {
      return state.revision;
    },
    get compactedRevision() {
      return state.compactedRevision;
    },
    get: (key) => state.get(key),
    list: (resource, options) => state.list(resource, options),
    count: (resource) => state.count(resource),
    resources: () => state.resources(),
    watch: (resource, options, listener) =>
      watchers.add(
        resource,
        options,
        listener,
        state.changesAfter(resource, options.fromRevision),
        state.revision,
      ),
    watchAll: (listener) => watchers.addOfAll(listener, state.revision),
    write: (key, writer) => queue.write(key, writer),
    flushed: () => queue.flushed(),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}
