/**
 * Runs containers as processes of this machine.
 *
 * One start: `command.ts` (what to run for the image) -> environment -> log file -> `spawn.ts` starts a process in a
 * process group of its own -> its identity goes into the pod's record (`records.ts`).
 *
 * Identity and adoption: processes outlive the agent, so an agent that restarts must find the processes that its
 * predecessor started. A pid alone is not enough, because the kernel reuses pids. The record therefore also holds
 * the start time in clock ticks since boot (`proc/`), which together with the pid identifies a process until the
 * machine reboots. Every process also carries the variable TIDEGATE_CONTAINER. A process with this variable that is
 * in no record was started just before its agent was killed; `ProcessRuntime.load` kills it, because it would hold
 * its ports forever.
 *
 * `power.ts`: after a power failure nothing is adopted, and pods get new addresses.
 */
export { openProcessRuntime } from './open.ts';
export { failPower } from './power.ts';
