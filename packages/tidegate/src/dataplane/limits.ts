/** Limits that hold in both data planes. nginx gets them in its configuration. Routes and annotations cannot change them. */

/** How many endpoints are tried for one request. If all of them fail, the request itself is the likely cause. */
export const MAX_TRIES = 3;

/**
 * How long an endpoint that did not answer is skipped while others are available. The first time is short, because a pod
 * that has just started may listen in a moment. It doubles with each further failure, up to the maximum, and ends with
 * the first answer.
 */
export const ENDPOINT_BACKOFF_MS = { first: 1_000, max: 10_000 } as const;

/** How long an idle connection of a client stays open. */
export const CLIENT_IDLE_MS = 75_000;

/** How long a client may take to send the headers of a request. */
export const CLIENT_HEADERS_MS = 60_000;

/** How long a client may pause while it sends a request body or reads a response. */
export const CLIENT_STALL_MS = 60_000;

/** The size of all headers of a request: nginx counts in buffers, each of which holds whole header lines. */
export const HEADER_BUFFERS = { count: 4, bytes: 16 * 1024 } as const;
