/**
 * Containers as processes of this machine. A start: what the image stands for (`command.ts`) -> environment -> log file
 * -> `spawn.ts`, a process group of its own -> its number and start time into the pod's record (`records.ts`), by which
 * the next agent finds it again.
 */
export { openProcessRuntime } from './open.ts';
