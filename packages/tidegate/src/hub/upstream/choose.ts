/** `rr`: round robin. `priority`: the first healthy server, in the configured order. */
export type LbMode = 'rr' | 'priority';

/** Returns a server that is not in `tried`; undefined if there is none. */
export type Choose<S> = (tried: ReadonlySet<S>) => S | undefined;

/**
 * Returns the function that chooses the server for a request among the healthy ones that were not tried for
 * it yet. With `rr`, servers that become unhealthy shift the turn of the others, which is harmless: the load
 * stays even.
 */
export function chooser<S extends { readonly healthy: boolean }>(
  servers: readonly S[],
  mode: LbMode,
): Choose<S> {
  let turn = 0;
  return (tried) => {
    const candidates = servers.filter((server) => server.healthy && !tried.has(server));
    return candidates[mode === 'rr' ? turn++ % candidates.length : 0];
  };
}
