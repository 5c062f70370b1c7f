/** Opens a data directory as a Store: connects memory, log, snapshots and watchers. */
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
import { DiskState } from './disk-state.ts';
import { recover } from './recovery.ts';
import type { Change, Store } from './types.ts';
import { Watchers } from './watchers.ts';

/** Options of {@link openStore}. */
export interface StoreOptions {
  directory: string;
  /** How many changes watches can resume from and lists can go back. Default: 20,000. */
  historySize?: number;
  log?: DiskLogger;
  /** Log size that triggers a snapshot. Default: 16 MiB. */
  snapshotBytes?: number;
  /** Opens files for writing. Tests use it to simulate a full disk. */
  openOutput?: OpenOutput;
}

/**
 * How far back watches and paged lists can go: as many changes, or as many bytes, whichever limit is reached first.
 */
const HISTORY_SIZE = 20_000;
const HISTORY_BYTES = 32 << 20;
/** kube-apiserver with its default options keeps changes for five to ten minutes. */
const HISTORY_MS = 7 * 60_000;
const SNAPSHOT_BYTES = 16 << 20;

/**
 * Opens the directory and creates it if necessary. Only one process can have it open. Rejects with a DiskError that
 * says what to do.
 *
 * @example
 * ```ts
 * const store = await openStore({ directory: '/var/lib/edge/store' });
 * const key = { resource: 'configmaps', namespace: 'default', name: 'settings' };
 * const stop = store.watch('configmaps', { fromRevision: store.revision }, (changes) => console.log(changes));
 * await store.write(key, (current, revision) => ({
 *   type: 'put',
 *   value: Buffer.from(JSON.stringify({ revision, created: current === undefined })),
 * }));
 * stop();
 * await store.close();
 * ```
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { directory } = options;
  let unlock = async () => {};
  try {
    // The data includes Secrets, so makeDirectory denies other users of the machine any access.
    makeDirectory(directory);
    unlock = await lockDirectory(directory);
    return await assemble(options, unlock);
  } catch (error) {
    await unlock();
    throw error instanceof DiskError ? error : diskFailure(directory, error);
  }
}

/** Recovers the state, then connects the parts as index.ts describes. */
async function assemble(options: StoreOptions, unlock: () => Promise<void>): Promise<Store> {
  const { directory, log = processLogger, openOutput = openFile } = options;
  const limits = {
    changes: options.historySize ?? HISTORY_SIZE,
    bytes: HISTORY_BYTES,
    // Not the time of day, which can be set back.
    age: { ms: HISTORY_MS, now: () => performance.now() },
  };
  const { state, wal, logBytes } = await recover({ directory, openOutput, limits, log });
  const leastBytes = options.snapshotBytes ?? SNAPSHOT_BYTES;
  const compactor = new Compactor({ directory, openOutput, state, wal, logBytes, leastBytes, log });
  const watchers = new Watchers(log);
  let appendedBytes = 0;

  async function append(changes: readonly Change[]): Promise<void> {
    // The previous changes are published by now, so memory and log are at the same revision, as the compactor requires.
    await compactor.appended(appendedBytes);
    appendedBytes = 0;
    appendedBytes = await wal.append(changes);
  }

  /** Runs synchronously after the sync, so readers and watchers see all changes of a batch at once. */
  function publish(changes: readonly Change[]): void {
    for (const change of changes) state.apply(change);
    watchers.dispatch(changes);
  }

  const disk = new DiskState({ log, probe: () => queue.probe(), onRecovered: () => compactor.retrySoon() });
  const onOutcome = (error: DiskError | undefined) => disk.note(error);
  const probe = () => wal.probe();
  const queue = new CommitQueue({ directory, state, append, publish, probe, onOutcome });
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    disk.close();
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
    get trouble() {
      return disk.trouble;
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
