/**
 * The hubs of a pool form a group: each of them sends the others what its kubelet reports about its pods, so that
 * endpoints in a site that is cut off follow all nodes of the site, not only the own one.
 *
 * A pod on node B becomes ready, and a router on node A gets to know it:
 *
 *   1. site/              The kubelet of B reports it to the hub of B.
 *   2. feed.ts            `Feed` writes a frame (frames.ts) with all reports of B. Pods that no Service selects are left out
 *                         (selections.ts).
 *   3. group-server.ts    `GroupServer` sends it to all hubs of the pool that read from B, over TLS: only to clients with
 *                         the certificate of a node of the pool (node-certificate.ts).
 *   4. peer-link.ts       The hub of A reads from B, because a pool has both as members (group.ts). It has verified that the
 *                         server has the identity of B. Nodes do not speak for others, so nothing is passed on.
 *   5. peer.ts            `Peer` keeps the newest frame of B, and counts for how long B is silent.
 *   6. site/              `Site` uses it for endpoints on B, and only for those.
 *
 * node-addresses.ts finds the other nodes: their addresses are in their Node objects, and are kept on disk.
 */
export type { GroupTimings } from './group.ts';
export { type OpenedGroup, type OpenGroupOptions, openGroup } from './open.ts';
