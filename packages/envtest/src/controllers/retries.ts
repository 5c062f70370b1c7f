/**
 * A short maximum backoff: after an outage of the API server, nodes and pods must not wait as long again as the
 * outage lasted.
 */
export const RETRIES = { backoff: { baseMs: 10, maxMs: 5_000 } };
