/** Names and values alternate, in the order in which they were received. Node.js calls them raw headers. */
export type FlatHeaders = string[];

export function eachHeader(
  flat: FlatHeaders,
  take: (name: string, value: string, lower: string) => void,
): void {
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const name = flat[at]!;
    take(name, flat[at + 1]!, name.toLowerCase());
  }
}

/** The joined values of a header; undefined if it is absent. */
export function headerOf(flat: FlatHeaders, wanted: string): string | undefined {
  const all: string[] = [];
  eachHeader(flat, (_, value, lower) => {
    if (lower === wanted) all.push(value);
  });
  return all.length === 0 ? undefined : all.join(', ');
}
