/**
 * Containers that run their own commands (`--run-commands`), as processes of the user.
 *
 * One container: `OwnCommands.prepare` (`own-commands.ts`) creates its root in the directory of the pod, from a plan
 * (`mount-plan.ts`, pure) of the machine's files (`machine-files.ts`) and the container's volumes -> `Sandbox.wrap`
 * creates the command line that mounts the plan in a namespace and runs the command -> `processes/` starts it like any
 * other process, if its program exists (`program.ts`). Probes, hooks and `kubectl exec` run further commands in the same way (`run-inside.ts`, `server/`).
 *
 * `watchdog.ts` ends the commands when the agent ends without stopping them.
 */
export { OwnCommandError, OwnCommands, ownCommand, unknownEntrypoint } from './own-commands.ts';
export { programProblem } from './program.ts';
export { removeTree } from './remove-tree.ts';
export { runInside } from './run-inside.ts';
export { Sandbox } from './sandbox.ts';
export { agentIdentity, startWatchdog } from './watchdog.ts';
