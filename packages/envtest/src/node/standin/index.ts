/**
 * The stand-in: the process that runs instead of an image that is not available on this machine. On the side of the agent,
 * `StandInProcesses` writes a file with the ports on which the pod is expected to listen (`ports.ts`). On the side
 * of the process (`main.ts`, a separate bundle), `run.ts` follows that file, and `server.ts` responds to every
 * request with a description of the pod and the request (`answer.ts`).
 *
 * One rolling update: the pod is deleted -> SIGTERM -> the stand-in keeps responding, with `Connection: close`,
 * while the endpoints are removed -> it stops listening, finishes open requests, and exits with 0.
 */
export { runStandIn } from './run.ts';
export { StandInProcesses, type StandInProcessesOptions } from './standins.ts';
