/**
 * A node of the embedded cluster: one process that does what kubelet and kube-proxy do, with processes for containers.
 *
 * `agent.ts` puts it together. `registration/` keeps the Node and its lease in the API; `pods/` has a worker for each
 * pod; `processes/` carries their containers, `hollow/` only says so; `probes/` look at them. What a container is given:
 * `images/` and `standin/` (what to run), `env/`, `volumes/` (both from `references/`), `logs/`. `server/` is the
 * kubelet's own, for kubectl logs; `nodeport/` forwards NodePorts.
 *
 * One pod: an informer event wakes its worker -> the worker compares the pod with its record of the containers
 * (`lifecycle.ts`, pure) -> it starts, stops or waits -> `status.ts` (pure) says what to report -> `PodReporter` writes
 * it as soon as the API server can be reached -> the write comes back as an event, and there is nothing left to do.
 */
export { type Agent, startAgent } from './agent.ts';
export { startHollowNodes } from './hollow/hollow-nodes.ts';
export { readImages } from './images/index.ts';
export { crashDelay } from './pods/record.ts';
export { processesBelow, startTicksOf } from './processes/proc.ts';
export { signalOne } from './processes/spawn.ts';
