/**
 * The store of the embedded API server: what etcd is to a real one. It owns a data directory and everything in it.
 *
 * A write: `write(key, writer)` -> commit-queue.ts asks the writer, which sees queued writes too, and gives the change
 * its revision -> log.ts appends everything queued as one frame and syncs once -> state.ts takes the changes into
 * tables (table.ts) and history (history.ts) -> watchers.ts tells who listens -> the promises resolve.
 *
 * A start: the directory's lock -> recovery.ts reads the newest snapshot (snapshot.ts) and the log behind it. Files are
 * headers (files.ts) and frames (src/disk) of records (record.ts). compactor.ts writes snapshots and drops old log.
 */
export { openStore } from './store.ts';
export type { Entry, Key, Store } from './types.ts';
