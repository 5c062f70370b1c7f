/**
 * `@tidegate/kube/testing`: what tests of programs on the kit need. `FakeServer` lists and watches one resource on a real
 * socket and can misbehave on demand, `VirtualClock` lets time pass only when a test advances it, and `SwitchedConnection`
 * disconnects an informer. `hostileRequests` are signing requests for tests of approvers. For a complete API server, use `@tidegate/envtest`.
 *
 * A test of a watch that breaks: start a `FakeServer`, run an informer against it with a `VirtualClock`, let the server drop
 * the connection, advance the clock by the back-off, and expect that the informer resumed from the last resource version.
 */
export { FakeServer, type ReceivedRequest, WIDGETS } from './fake-server.ts';
export { type HostileNames, hostileRequests } from './hostile-requests.ts';
export { answerJson } from './rest.ts';
export { SwitchedConnection } from './switched-connection.ts';
export { settle, VirtualClock } from './virtual-clock.ts';
