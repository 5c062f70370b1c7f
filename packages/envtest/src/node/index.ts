/**
 * A node of the embedded cluster: one process that does the work of kubelet and kube-proxy, with operating system
 * processes as containers.
 *
 * `agent.ts` wires the parts:
 *   - `registration/`: the Node object, its Lease and its status;
 *   - `pods/`: a worker for each pod, and the pure functions that decide what it does;
 *   - `processes/` runs containers as processes; `hollow/` only pretends to, for tests with many nodes;
 *   - `probes/`: startup, liveness and readiness probes;
 *   - `images/` and `standin/`: what to run for an image; `env/` and `volumes/`: what the process receives, with `references/` for the ConfigMaps and Secrets; `logs/`: its output;
 *   - `server/`: the HTTPS server of the kubelet, for `kubectl logs` and `kubectl exec`; `nodeport/` and `clusterip/`: forward the ports of Services;
 *   - `commands/`: runs the containers' own commands, if the user allows it.
 *
 * One pod:
 *   1. An informer event wakes the pod's worker (`pods/worker.ts`).
 *   2. The worker compares the pod with its record of the containers (`pods/lifecycle.ts`, pure), and starts or stops containers, or waits.
 *   3. `pods/status.ts` (pure) computes the status, and `PodReporter` writes it as soon as the API server is reachable.
 *   4. The write returns as an event. The worker finds nothing left to do.
 */
export { type Agent, startAgent } from './agent.ts';
export { startHollowNodes } from './hollow/hollow-nodes.ts';
export { readImages } from './images/index.ts';
export { crashDelay } from './pods/record.ts';
export { processesBelow, signalOne, startTicksOf } from './proc/index.ts';
export { failPower } from './processes/index.ts';
