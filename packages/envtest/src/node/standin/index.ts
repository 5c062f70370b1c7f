/**
 * The process that answers for an image nobody has. The agent's side is `StandInProcesses`: which ports a pod is
 * expected to listen on, written to a file. The process's side (`main.ts`, a bundle of its own) reads that file, follows
 * it, and answers every request with what it is and what it got.
 *
 * A rolling update: the pod is deleted -> SIGTERM -> the stand-in answers on, with `Connection: close`, while the
 * endpoints are withdrawn -> it stops listening, ends what is under way, and exits with 0.
 */
export { runStandIn } from './run.ts';
export { StandInProcesses, type StandInProcessesOptions } from './standins.ts';
