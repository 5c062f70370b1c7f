/** Divides memory among namespaces. Pure. */

interface Entry {
  readonly namespace: string;
  readonly bytes: number;
}

/**
 * The keys that do not fit into `limit` bytes. Each namespace that needs less than an equal share gets all that it needs; the
 * others share the rest equally, and keep their smallest entries. Entries with more than `most` bytes never fit.
 */
export function shareOf(entries: ReadonlyMap<string, Entry>, limit: number, most: number): Set<string> {
  const without = new Set<string>();
  const byNamespace = new Map<string, [string, Entry][]>();
  for (const [key, entry] of entries) {
    if (entry.bytes > most) {
      without.add(key);
      continue;
    }
    const own = byNamespace.get(entry.namespace) ?? [];
    own.push([key, entry]);
    byNamespace.set(entry.namespace, own);
  }
  const uses = [...byNamespace.values()].map((own) => own.reduce((sum, [, { bytes }]) => sum + bytes, 0));
  const share = equalShare(uses, limit);
  let index = 0;
  for (const own of byNamespace.values()) {
    if (uses[index++]! <= share) continue;
    let left = share;
    // Sorted by key among equals, so that each replica of a router keeps the same entries.
    own.sort(([a, { bytes: x }], [b, { bytes: y }]) => x - y || (a < b ? -1 : 1));
    for (const [key, { bytes }] of own) {
      left -= bytes;
      if (left < 0) without.add(key);
    }
  }
  return without;
}

/** The largest share with which all fit. */
function equalShare(uses: readonly number[], limit: number): number {
  let left = limit;
  const ascending = [...uses].sort((a, b) => a - b);
  for (const [at, use] of ascending.entries()) {
    const share = left / (ascending.length - at);
    if (use > share) return share;
    left -= use;
  }
  return Number.POSITIVE_INFINITY;
}
