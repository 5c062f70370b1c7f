/**
 * Keeps the node in the API.
 *
 * `Registration` creates the Node object (`node-object.ts`) or updates the labels of an existing one. It then renews
 * the Lease every ten seconds (`lease.ts`), which is the heartbeat, and writes the status when it changes, or at
 * least every five minutes. A Node that was deleted is registered again.
 */
export { type Machine, type NodeDescription, thisMachine } from './node-object.ts';
export { Registration } from './registration.ts';
