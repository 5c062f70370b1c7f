/**
 * The store of the embedded API server: what etcd is to kube-apiserver. It owns a data directory and all files in it.
 *
 * It is our own code because Kubernetes needs revisions, watches and reads at an older revision on top of a key-value
 * store, and no embeddable store for Node offers them; what remains, a log with group commit, is faster than the
 * libraries we measured (see log.ts).
 *
 * A write: `write(key, writer)`
 *   -> commit-queue.ts calls the writer, which also sees queued writes, and assigns the revision
 *   -> log.ts appends everything that is queued as one frame and syncs once
 *   -> state.ts applies the changes to the tables (table.ts) and the history (history.ts)
 *   -> watchers.ts notifies the watchers -> the promises of the writers resolve.
 *
 * A start: store.ts locks the directory -> recovery.ts reads the newest snapshot (snapshot.ts) and the log after it.
 * Files consist of a header (files.ts) and frames (@tidegate/disk) of records (record.ts). compactor.ts writes
 * snapshots and removes log segments that are no longer needed.
 *
 * A full disk: the commit queue rejects every queued write, and nothing of them is stored or visible -> disk-state.ts
 * probes the disk every second until it accepts writes. Reads and watches are not affected.
 */
export { openStore } from './store.ts';
export type { Entry, Key, Store } from './types.ts';
