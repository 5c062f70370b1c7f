const MAX_NAMES = 5;

/** For example `a, b, c, d, e and 7 more`. Keeps messages short when there are many names. */
export function nameList(names: Iterable<string>): string {
  const all = [...names].toSorted();
  const rest = all.length - MAX_NAMES;
  return rest <= 0 ? all.join(', ') : `${all.slice(0, MAX_NAMES).join(', ')} and ${rest} more`;
}
