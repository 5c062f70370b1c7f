/**
 * The listeners of the hub, where each request starts.
 *
 *   listeners.ts opens HTTP, HTTPS, the unix socket of the node, and the admin port; listener.ts is one server with its
 *   connections and its shutdown. hub-interface.ts adds the address that pods use to the host, and node-socket.ts
 *   ensures that only root can connect to the socket. connections.ts limits connections, by peer (peer.ts) and tenant.
 *   A request -> handler.ts parses the path, authenticates the client (identity/), and calls the dispatcher (requests/).
 *   admin.ts serves health, metrics and debugging pages on the admin port.
 */
export { type AdminSource, adminHandler } from './admin.ts';
export { summarizeJournal, summarizeViews } from './admin-summary.ts';
export type { ConnectionLimits } from './connections.ts';
export { Connections } from './connections.ts';
export { Handler } from './handler.ts';
export { Listeners, type Ports } from './listeners.ts';
