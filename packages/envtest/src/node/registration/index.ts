/** A node's place in the API: its Node object, the lease by which others see that it lives, and its status. */
export { type Machine, type NodeDescription, thisMachine } from './node-object.ts';
export { Registration } from './registration.ts';
