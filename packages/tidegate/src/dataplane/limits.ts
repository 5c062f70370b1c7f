/** Limits that hold in both data planes. nginx gets them in its configuration. Routes and annotations cannot change them. */

/** How many endpoints are tried for one request. If all of them fail, the request itself is the likely cause. */
export const MAX_TRIES = 3;

/**
 * How long an endpoint that did not answer is skipped while others are available. The first time is short, because a pod
 * that has just started may listen in a moment. It doubles with each further failure, up to the maximum, and ends with
 * the first answer.
 */
export const ENDPOINT_BACKOFF_MS = { first: 1_000, max: 10_000 } as const;

/**
 * How long a connection to an endpoint may take while there is another one to try. An address that vanished, for example with
 * its node, does not answer at all, and an endpoint at the same site answers within milliseconds. The last endpoint gets the
 * whole time that the route has.
 */
export const FIRST_CONNECT_MS = 500;

/**
 * A body up to this size is read before an endpoint is contacted, if the request may be sent again: another endpoint then gets
 * the same body.
 */
export const MAX_KEPT_BODY_BYTES = 64 * 1024;

/**
 * The size of a body without a length, for routes with a limit for bodies. nginx writes such a body to the disk before it compares
 * the size with the limit of the route. Beyond it, the response is 413. Bodies with a length, and routes without a limit, may have
 * more.
 */
export const MAX_UNKNOWN_BODY_BYTES = 2 ** 30;

/** The head of a response of an endpoint, usually and for routes that ask for more. Beyond it, the response is 502. */
export const MAX_RESPONSE_HEAD_BYTES = { usual: 16 * 1024, large: 128 * 1024 } as const;

/** For the balance `ewma`: how long it takes until an observed time has lost two thirds of its weight. */
export const EWMA_DECAY_MS = 10_000;

/** How long an idle connection of a client stays open. */
export const CLIENT_IDLE_MS = 75_000;

/** How long a client may take to send the headers of a request. */
export const CLIENT_HEADERS_MS = 60_000;

/** How long a client may pause while it sends a request body or reads a response. */
export const CLIENT_STALL_MS = 60_000;

/** The size of the request line and of each header line, with the line end. Beyond it, the response is 414 or 431. */
export const MAX_LINE_BYTES = 16 * 1024;

/** The size of the request line and all headers. Beyond it, the response is 431. */
export const MAX_HEAD_BYTES = 64 * 1024;

/** The length of the Connection header. Each name in it costs time. */
export const MAX_CONNECTION_BYTES = 256;

/** The number of headers. Beyond it, the response is 431. Both nginx and Node.js have higher limits of their own. */
export const MAX_HEADERS = 500;

/**
 * The methods that are forwarded: those that the HTTP parser of Node.js knows. CONNECT would open a tunnel past the routes,
 * and TRACE echoes the headers, and would show scripts what they must not see, for example cookies.
 */
export const METHODS: ReadonlySet<string> = new Set([
  ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'ACL', 'BIND', 'CHECKOUT', 'COPY', 'LINK'],
  ...[
    'LOCK',
    'M-SEARCH',
    'MERGE',
    'MKACTIVITY',
    'MKCALENDAR',
    'MKCOL',
    'MOVE',
    'NOTIFY',
    'PROPFIND',
    'PROPPATCH',
  ],
  ...[
    'PURGE',
    'REBIND',
    'REPORT',
    'SEARCH',
    'SOURCE',
    'SUBSCRIBE',
    'UNBIND',
    'UNLINK',
    'UNLOCK',
    'UNSUBSCRIBE',
  ],
]);

/** How many answers of servers that authenticate clients the embedded data plane keeps. nginx keeps what fits into its memory. */
export const MOST_KEPT_AUTH_ANSWERS = 10_000;

/** Requests with larger bodies are not mirrored: the copy of a body is in memory. */
export const MAX_MIRRORED_BODY_BYTES = 1024 * 1024;

/** How many copies of requests can be on their way at a time. nginx has the same limit for each worker. */
export const MAX_MIRRORED = 256;
