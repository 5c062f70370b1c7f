/** After an outage of the API server nodes and pods must not wait for as long again as it lasted. */
export const RETRIES = { backoff: { baseMs: 10, maxMs: 5_000 } };
