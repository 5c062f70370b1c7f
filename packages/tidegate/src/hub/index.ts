/**
 * The hub: one process per node, between the programs on the node and the API servers. Programs talk to it as if it were
 * the API server. It authenticates every client, answers reads from copies that it keeps current, rewrites responses so
 * that components work at the edge, forwards everything else, and keeps the node working while no API server is
 * reachable.
 *
 * kube-proxy watches EndpointSlices, a shared resource:
 *
 *   1. listeners/     `Listeners` accepts the connection; `Handler` parses the path.
 *   2. identity/      `Authenticator` verifies the token: which service account is this?
 *   3. requests/      `RequestDispatcher` -> `Reads`, which asks
 *   4. filters/       `Filters.chainFor` which filters apply to this component and resource, and passes the call to
 *   5. requests/      `SharedReads`: EndpointSlices are shared.
 *   6. access/        `Access` asks the API server whether this client may watch EndpointSlices, and asks again every
 *                     five minutes.
 *   7. views/         `Views` holds the shared view, and waits until it is up to date. `follow.ts` keeps it current with
 *                     one watch for the whole node, through
 *   8. upstream/      `Upstream`, which sends each request to a healthy API server.
 *   9. projections/   `Projections` filters each slice once for all clients that get the same result, with
 *  10. filters/       the filters of the chain.
 *  11. answers/       `answerWatch` sends the state and every event, at the pace of the client.
 *
 * The API server becomes unreachable: the watch stays open, and site/ corrects the slices with what the kubelet reports. A
 * pool changes: the slices that look different now are sent
 * at once.
 *
 * The kubelet lists its Pods, a private resource: steps 1 to 5 are the same, but `Reads` passes the call to
 * `PrivateReads`. The list goes to the API server (`Forwarding`, upstream/) with the credentials of the client, views/
 * stores the response for that identity, and answers/ sends it. A watch of Pods continues with steps 7 to 11, without
 * step 6: a private view is read with the client's own credentials, so the API server has authorized every object in it.
 *
 * Beside the path: group/ connects the hubs of a pool, shares/ divides what the hub keeps among clients, journal/ keeps the writes of the node while no API server is reachable, tokens/ returns service
 * account tokens that were issued before, discovery/ keeps the discovery documents, and certificates/ obtains the
 * certificates of the hub. compose.ts creates and connects all parts; open.ts opens those whose kind depends on
 * options.ts; state.ts is what the hub keeps on disk; lifetime.ts stops everything in order.
 */
export { type Hub, startHub } from './hub.ts';
export type { HubOptions } from './options.ts';
