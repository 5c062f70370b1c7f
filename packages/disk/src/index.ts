/**
 * `@tidegate/disk`: files that survive a crash. `frame` divides a file into checked pieces, so that a torn write is
 * detected; `output-file` and `atomic-file` write with known results after a power failure; `lock` limits a directory
 * to one process; `durable-map` is a map of keys and values on top.
 *
 * One change of a DurableMap: `put` keeps it in memory, where reads find it -> `flush` is called, or 100 ms pass ->
 * all pending changes become one frame (`map-frame`), which is appended to the file (`map-file`) and synced once ->
 * `map-storage` records the position of each value, and the value is released from memory. When most of the file is
 * garbage, `map-rewrite` writes a new one next to it.
 *
 * This is our own code instead of a database: it has to be small, must not bring a native addon, and needs nothing
 * more than a map.
 */

export { writeFileAtomically } from './atomic-file.ts';
export { DurableMap, type DurableMapOptions } from './durable-map.ts';
export { asDiskError, corruptFile, DiskError, diskFailure, isDiskErrno, isErrno } from './errors.ts';
export { FRAME_HEADER_SIZE, hasFrameBehind, readFrames, sealFrame } from './frame.ts';
export { freeBytes, LOW_BYTES } from './free-space.ts';
export { identify, isAlive, lockDirectory, lockOwner, type ProcessIdentity } from './lock.ts';
export { type DiskLogger, processLogger } from './logger.ts';
export { makeChosenDirectory, makeDirectory } from './make-directory.ts';
export { hasRoomFor, type OpenOutput, type OutputFile, openFile, syncDirectory } from './output-file.ts';
export { quotePath } from './quote-path.ts';
