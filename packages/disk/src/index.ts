/**
 * Files that survive a crash. This folder owns: cutting a file into pieces that are whole or recognised as torn
 * (`frame.ts`), writing so that it is known what a power cut leaves (`output-file.ts`, `atomic-file.ts`), one process a
 * directory (`lock.ts`), and a map of keys and values on top (`durable-map.ts`).
 *
 * One change of a DurableMap: `put` keeps it in memory, where reads find it -> `flush`, or 100 ms -> all changes of that
 * time become one frame (`map-frame.ts`) behind the last one in the file (`map-file.ts`) -> one sync -> `map-storage.ts`
 * remembers where each value stands, and the memory is free again. When most of the file is garbage, `map-rewrite.ts`
 * makes a new one beside it.
 */

export { writeFileAtomically } from './atomic-file.ts';
export { DurableMap } from './durable-map.ts';
export { corruptFile, DiskError, diskFailure, isErrno } from './errors.ts';
export { FRAME_HEADER_SIZE, hasFrameBehind, readFrames, sealFrame } from './frame.ts';
export { identify, isAlive, lockDirectory, lockOwner, type ProcessIdentity } from './lock.ts';
export { type DiskLogger, processLogger } from './logger.ts';
export { makeChosenDirectory, makeDirectory } from './make-directory.ts';
export { type OpenOutput, type OutputFile, openFile, syncDirectory } from './output-file.ts';
