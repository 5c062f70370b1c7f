/** `rr`: new requests go round. `priority`: the first that is healthy, in the order they were named. */
export type LbMode = 'rr' | 'priority';

/** Undefined when none is left. */
export type Choose<S> = (tried: ReadonlySet<S>) => S | undefined;

/** Decides where the next request goes, among those that are healthy and were not tried for it yet. */
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
