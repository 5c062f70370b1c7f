/**
 * The entrances of the hub, where each request starts.
 *
 *   listeners.ts opens HTTP, HTTPS, the unix socket of the node, and the admin port; listener.ts is one server with its
 *   connections and its shutdown. hub-interface.ts gives the host the address that pods use, and node-socket.ts makes
 *   sure that only root can reach the socket.
 *   A request -> handler.ts parses the path, authenticates the client (identity/), and calls the router (requests/).
 *   admin.ts serves health, metrics and the internal state on the admin port.
 */
export { adminHandler } from './admin.ts';
export { Handler } from './handler.ts';
export { Listeners, type Ports } from './listeners.ts';
