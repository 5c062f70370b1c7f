/**
 * The hub: one process on a node, between everything there and the API servers. It finds out who asks (identity/),
 * answers from what it follows (views/, answers/), shows each program what its place and role let it see (filters/),
 * passes on everything else (upstream/), and goes on while no API server can be reached (journal/, tokens/, discovery/).
 *
 * kube-proxy lists and watches EndpointSlices:
 *   listeners/ takes the request -> identity/ verifies its token -> traffic/ sees that the resource is shared and asks,
 *   once, whether that token may read it -> views/ has the one watch upstream that serves all programs of the node
 *   -> views/projection/ filters each slice by filters/, once for all who see the same -> answers/ writes the stream.
 *   The link is cut: the watch stays open. A pool changes: the slices that look different now are sent at once.
 */
export { type Hub, startHub } from './hub.ts';
export type { HubOptions } from './options.ts';
